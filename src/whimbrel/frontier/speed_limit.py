"""How fast the crawl as a whole may go: pages and bytes per second, all hosts together."""

from typing import Final

_BURST_S: Final = 1.0
"""What may be caught up on, when the loop was busy elsewhere: with less of it a busy machine is slower than it was
asked to be, with more a crawl that had nothing to do bursts."""
_LATELY_S: Final = 0.1


class Rate:
    """None is no limit."""

    def __init__(self, pages_per_s: float | None, bytes_per_s: int | None) -> None:
        self.free_s = float("-inf")
        """Before this nothing is let out."""
        self._next_s: float | None = None
        """None before the first page: there is nothing to catch up on."""
        self._paid_s: float | None = None
        """The same of bytes."""
        self.limit(pages_per_s, bytes_per_s)

    def limit(self, pages_per_s: float | None, bytes_per_s: int | None) -> None:
        """Other limits. What has been closed for longer than the old one said stays so."""
        self._page_s = 1.0 / pages_per_s if pages_per_s else 0.0
        self._bytes_per_s = bytes_per_s
        if not self._page_s:
            self._next_s = None
        if not bytes_per_s:
            self._paid_s = None

    def holds_back(self, now_s: float) -> bool:
        """Whether a limit sets the pace: it has let something out only lately."""
        return bool(self._page_s or self._bytes_per_s) and now_s < self.free_s + _LATELY_S

    def close(self, until_s: float) -> None:
        self.free_s = max(self.free_s, until_s)

    def let_out(self, now_s: float) -> None:
        """A page is asked for: the next one may be a little later."""
        if self._page_s:
            self._next_s = _due_s(self._next_s, now_s) + self._page_s
            self.close(self._next_s)

    def received(self, size: int, now_s: float) -> None:
        """Nothing more for as long as these bytes are worth."""
        if self._bytes_per_s:
            self._paid_s = _due_s(self._paid_s, now_s) + size / self._bytes_per_s
            self.close(self._paid_s)


def _due_s(planned_s: float | None, now_s: float) -> float:
    """When what happens now should have happened."""
    return now_s if planned_s is None else max(planned_s, now_s - _BURST_S)
