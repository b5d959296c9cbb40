"""The end of every visit."""

from whimbrel.commit.settlement import Settlement
from whimbrel.flow import In, Needs, Sync
from whimbrel.frontier.distributor import Routed


class Archivist(Sync):
    routed = In(Routed)
    settlement = Needs(Settlement)

    def process(self, routed: Routed) -> None:
        self.settlement.settle(routed)
