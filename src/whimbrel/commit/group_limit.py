"""When a group is cut: after a time, or before that when it holds too much."""

from whimbrel.flow import Config
from whimbrel.result.work import Work


class GroupLimit(Config, frozen=True):
    every_s: float = 1.0
    """The time between two commits."""
    group_bytes: int = 16_000_000
    """Bodies, texts and links of one group; beyond that it is sealed at once. Two groups are in memory."""
    group_visits: int = 20_000
    """Visits in one group; likewise."""

    def is_reached(self, work: Work) -> bool:
        """Whether a group with this work is to be sealed before its time."""
        return (
            work.bytes >= self.group_bytes
            or len(work.visits) + len(work.captures) + len(work.handled) >= self.group_visits
        )
