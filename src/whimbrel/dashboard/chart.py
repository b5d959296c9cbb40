"""Drawings, as values for ECharts: functions of numbers."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, Final

from whimbrel.control.history import Sample

GREY: Final = "#8a9099"
GREEN, AMBER, RED, BLUE, VIOLET = "#2a9d6f", "#d99a2b", "#d4493f", "#3f7fd4", "#8a63d2"
_COLOURS: Final = (BLUE, GREEN, AMBER, RED, VIOLET, GREY)


def over_time(
    series: Mapping[str, Sequence[tuple[float, float]]], unit: str = "", *, stacked: bool = False
) -> dict[str, Any]:
    """Lines over the time since the run began."""
    return {
        "animation": False,
        "color": list(_COLOURS),
        "grid": {"left": 56, "right": 12, "top": 30, "bottom": 26},
        "legend": {"top": 0, "textStyle": {"color": GREY}, "show": len(series) > 1},
        "tooltip": {"trigger": "axis"},
        "xAxis": {"type": "value", "min": "dataMin", "max": "dataMax", "splitLine": {"show": False},
                  "axisLabel": {"color": GREY, "formatter": "{value} s"}},
        "yAxis": {"type": "value", "min": 0, "axisLabel": {"color": GREY, "formatter": f"{{value}}{unit}"},
                  "splitLine": {"lineStyle": {"color": GREY, "opacity": 0.2}}},
        "series": [
            {
                "name": name,
                "type": "line",
                "showSymbol": False,
                "data": [list(point) for point in points],
                **({"stack": "all", "areaStyle": {"opacity": 0.5}, "lineStyle": {"width": 0}} if stacked else {}),
            }
            for name, points in series.items()
        ],
    }  # fmt: skip


def rates(samples: Sequence[Sample], field: str, scale: float = 1.0) -> list[tuple[float, float]]:
    """How fast a total grows, per second."""
    found = []
    for before, after in pairwise(samples):
        passed_s = after.at_s - before.at_s
        if passed_s > 0:
            grown = getattr(after, field) - getattr(before, field)
            found.append((round(after.at_s, 1), round(max(0.0, grown / passed_s) * scale, 3)))
    return found


def values(samples: Sequence[Sample], field: str, scale: float = 1.0) -> list[tuple[float, float]]:
    return [(round(sample.at_s, 1), round(getattr(sample, field) * scale, 3)) for sample in samples]


def _plain(kind: str, rows: Sequence[tuple[str, float]]) -> dict[str, Any]:
    """Names along the bottom, one number for each."""
    return {
        "animation": False,
        "color": list(_COLOURS),
        "grid": {"left": 64, "right": 12, "top": 16, "bottom": 60},
        "tooltip": {"trigger": "axis"},
        "xAxis": {"type": "category", "data": [name for name, _ in rows], "axisLabel": {"color": GREY, "rotate": 30}},
        "yAxis": {
            "type": "value",
            "axisLabel": {"color": GREY},
            "splitLine": {"lineStyle": {"color": GREY, "opacity": 0.2}},
        },
        "series": [{"type": kind, "data": [number for _, number in rows]}],
    }


def answer_chart(kind: str, rows: Sequence[Mapping[str, Any]], names: Sequence[str]) -> dict[str, Any]:
    """An answer as a drawing: the first column is what, the first column of numbers after it how much."""
    number = next((name for name in names[1:] if any(isinstance(row[name], int | float) for row in rows)), "")
    found = [(str(row[names[0]])[:60], float(row[number] or 0)) for row in rows[:100]] if number else []
    if kind == "pie":
        data = [{"name": name, "value": value} for name, value in found[:30]]
        return {
            "animation": False,
            "tooltip": {},
            "series": [{"type": "pie", "radius": "70%", "data": data, "label": {"color": GREY}}],
        }
    return _plain("line" if kind == "line" else "bar", found)


def hosts_chart(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Who links to whom: hosts as circles, larger the more they are linked to."""
    weight: dict[str, int] = {}
    for row in rows:
        weight[row["source"]] = weight.get(row["source"], 0)
        weight[row["target"]] = weight.get(row["target"], 0) + row["links"]
    most = max(weight.values(), default=1) or 1
    return {
        "tooltip": {},
        "series": [
            {
                "type": "graph",
                "layout": "force",
                "roam": True,
                "force": {"repulsion": 500, "edgeLength": 100, "gravity": 0.25, "layoutAnimation": False},
                "label": {"show": len(weight) <= 60, "position": "right", "color": GREY},
                "edgeSymbol": ["none", "arrow"],
                "edgeSymbolSize": 5,
                "lineStyle": {"color": GREY, "opacity": 0.4, "curveness": 0.1},
                "itemStyle": {"color": BLUE},
                "data": [
                    {"name": host, "value": count, "symbolSize": 8 + 32 * (count / most) ** 0.5}
                    for host, count in weight.items()
                ],
                "links": [
                    {"source": row["source"], "target": row["target"], "value": row["links"]}
                    for row in rows
                    if row["source"] != row["target"]
                ],
            }
        ],
    }
