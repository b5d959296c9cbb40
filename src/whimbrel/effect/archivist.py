"""The end of every visit."""

from whimbrel.effect.effects import Effects
from whimbrel.flow import In, Needs, Sync
from whimbrel.route.distributor import Routed


class Archivist(Sync):
    routed = In(Routed)
    effects = Needs(Effects)

    def process(self, routed: Routed) -> None:
        self.effects.apply(routed)
