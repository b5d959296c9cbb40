"""Where the components of a wiring stand in its drawing."""

from whimbrel.control.status import WiringView

_ACROSS, _DOWN = 190.0, 110.0


def columns(wiring: WiringView) -> dict[str, tuple[float, float]]:
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
