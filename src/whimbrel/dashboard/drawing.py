"""The live wiring as SVG: boxes with their rates, lines with their fill. Every text is escaped."""

from collections.abc import Mapping
from html import escape
from typing import Final

from whimbrel.control.status import JointView, WiringView

_WIDTH, _HEIGHT = 132.0, 52.0
_ACROSS, _DOWN = 190.0, 110.0
"""From one component to the next."""
_MARGIN: Final = 24.0
_LIFT: Final = 62.0
"""How far a line that passes over others is lifted."""
GREEN, AMBER, RED = "#2a9d6f", "#c98a1c", "#d4493f"
_BUSY, _FULL = 0.5, 0.9


def wiring_svg(now: WiringView, before: WiringView | None, passed_s: float) -> str:
    """How many items a second each component handles, and how full each connector is."""
    places = _columns(now)
    if not places:
        return ""
    top = _LIFT if any(_passes(one, places) for one in now.connectors) else 0.0
    width = max(x for x, _ in places.values()) + _WIDTH + 2 * _MARGIN
    height = max(y for _, y in places.values()) + _HEIGHT + 2 * _MARGIN + top
    lines = [_line(one, places) for one in now.connectors]
    boxes = [_box(name, place, now, _rates(now, before, passed_s)) for name, place in places.items()]
    return (
        f'<svg viewBox="{-_MARGIN} {-_MARGIN - top} {width} {height}" style="width: 100%; max-height: 26rem; '
        f'min-width: {width * 0.8:.0f}px" role="img" aria-label="the live wiring" fill="currentColor">'
        f"{_ARROWS}{''.join(lines)}{''.join(boxes)}</svg>"
    )


_ARROWS: Final = (
    "<defs>"
    + "".join(
        f'<marker id="tip{colour[1:]}" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="9" markerHeight="9" '
        f'markerUnits="userSpaceOnUse" orient="auto"><path d="M0 0 8 4 0 8z" fill="{colour}"/></marker>'
        for colour in (GREEN, AMBER, RED)
    )
    + "</defs>"
)


def _rates(now: WiringView, before: WiringView | None, passed_s: float) -> dict[str, float]:
    earlier = {} if before is None else {part.name: part.handled for part in before.parts}
    return {
        part.name: max(0.0, (part.handled - earlier.get(part.name, part.handled)) / passed_s) if passed_s > 0 else 0.0
        for part in now.parts
    }


def _box(name: str, place: tuple[float, float], now: WiringView, rates: Mapping[str, float]) -> str:
    x, y = place
    part = next(part for part in now.parts if part.name == name)
    colour = _colour(max((_fill(one) for one in now.connectors if _target(one) == name), default=0.0))
    count = f" ×{part.instances}" if part.instances > 1 else ""
    return (
        f'<g><rect x="{x}" y="{y}" width="{_WIDTH}" height="{_HEIGHT}" rx="8" fill="{colour}"/>'
        f'<text x="{x + _WIDTH / 2}" y="{y + 21}" text-anchor="middle" font-size="14" fill="#fff">'
        f"{escape(name)}{count}</text>"
        f'<text x="{x + _WIDTH / 2}" y="{y + 40}" text-anchor="middle" font-size="13" fill="#fff" opacity=".9">'
        f"{rates[name]:,.0f}/s</text></g>"
    )


def _line(one: JointView, places: Mapping[str, tuple[float, float]]) -> str:
    (x1, y1), (x2, y2) = places[_source(one)], places[_target(one)]
    x1, y1, y2 = x1 + _WIDTH, y1 + _HEIGHT / 2, y2 + _HEIGHT / 2
    colour, wide = _colour(_fill(one)), 4 if one.kind == "direct" else 2
    if _passes(one, places):
        x1, x2 = x1 - _WIDTH / 2, x2 + _WIDTH / 2
        y1, y2 = y1 - _HEIGHT / 2, y2 - _HEIGHT / 2
        path = f"M{x1} {y1}C{x1} {y1 - _LIFT},{x2} {y2 - _LIFT},{x2} {y2}"
        label = ((x1 + x2) / 2, min(y1, y2) - 0.75 * _LIFT - 6)
    else:
        middle = (x1 + x2) / 2
        path = f"M{x1} {y1}C{middle} {y1},{middle} {y2},{x2} {y2}"
        label = (middle if y1 == y2 else middle + 34, (y1 + y2) / 2 - 6)
    said = "" if one.kind == "direct" else f"{one.queued:,}/{one.capacity:,}" if one.capacity else "queue"
    return (
        f'<path d="{path}" fill="none" stroke="{colour}" stroke-width="{wide}" marker-end="url(#tip{colour[1:]})"/>'
        f'<text x="{label[0]}" y="{label[1]}" text-anchor="middle" font-size="12" opacity=".75">{said}</text>'
    )


def _passes(one: JointView, places: Mapping[str, tuple[float, float]]) -> bool:
    """Whether a line leads over another column, or back."""
    (x1, _), (x2, _) = places[_source(one)], places[_target(one)]
    return x2 <= x1 or any(x1 < x < x2 for x, _ in places.values())


def _source(one: JointView) -> str:
    return one.source.partition(".")[0]


def _target(one: JointView) -> str:
    return one.target.partition(".")[0]


def _fill(one: JointView) -> float:
    return min(1.0, one.queued / one.capacity) if one.capacity else 0.0


def _colour(fill: float) -> str:
    return RED if fill >= _FULL else AMBER if fill >= _BUSY else GREEN


def _columns(wiring: WiringView) -> dict[str, tuple[float, float]]:
    """Each component right of those that feed it, and those of a column under each other. What leads back in a circle
    does not count."""
    names = [part.name for part in wiring.parts if part.kind == "component"]
    feeds = [(one.source.split(".")[0], one.target.split(".")[0]) for one in wiring.connectors]
    column = dict.fromkeys(names, 0)
    for _ in names:
        for source, target in feeds:
            if source in column and target in column and column[target] <= column[source] < len(names) - 1:
                column[target] = column[source] + 1
    height: dict[int, int] = {}
    found = {}
    joints = [name for pair in feeds for name in pair]
    # The busiest of a column first: the main road is a straight line.
    for name in sorted(names, key=lambda one: -joints.count(one)):
        row = height.get(column[name], 0)
        height[column[name]] = row + 1
        found[name] = (column[name] * _ACROSS, row * _DOWN)
    return found
