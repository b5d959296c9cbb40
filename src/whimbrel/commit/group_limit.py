"""When a group is cut: after a time, or before that when it holds too much."""

from whimbrel.flow import Config


class GroupLimit(Config, frozen=True):
    every_s: float = 1.0
    """The time between two commits."""
    group_bytes: int = 20_000_000
    """Of all that one group holds: bodies, texts, links, rows, and changes of the state. Beyond that it is sealed at
    once, and while the one before it is being written, nothing more is read. Two groups are in memory, and the last
    visit of each may go beyond the limit."""
    group_visits: int = 20_000
    """Visits in one group; likewise."""
