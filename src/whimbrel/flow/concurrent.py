"""A component that has several items under way at once."""

from collections import deque
from typing import Any, Generic, TypeVar

from whimbrel.flow.component import Async
from whimbrel.flow.port import Delivery, Inlet, Outlet

Item = TypeVar("Item")
Product = TypeVar("Product")


class Concurrent(Async, Generic[Item, Product]):
    """Begins what there is room for, and hands on what is finished, in whatever order.

    A subclass says where items come from and products go (`source`, `target`), how many may be under way (`room`), and
    what to do with one (`begin`), which ends in `finish`, at once or later, on the event loop. An item keeps its place
    until its product is handed on, so what is finished and waits is never more than `room`; but a full output keeps no
    item from being begun while there is room.
    """

    def __init__(self, config: Any = None) -> None:
        super().__init__(config)
        self._finished: deque[tuple[Delivery[Item], Product]] = deque()
        self._under_way = 0
        self._failure: Exception | None = None

    @property
    def source(self) -> Inlet[Item]:
        raise NotImplementedError

    @property
    def target(self) -> Outlet[Product]:
        raise NotImplementedError

    @property
    def room(self) -> int:
        raise NotImplementedError

    def begin(self, delivery: Delivery[Item]) -> None:
        raise NotImplementedError

    def finish(self, delivery: Delivery[Item], product: Product) -> None:
        self._under_way -= 1
        self._finished.append((delivery, product))
        self.activity.set()

    def fail(self, error: Exception) -> None:
        """Nothing can be finished any more. What is under way stays in the connector, unacknowledged."""
        self._failure = error
        self.activity.set()

    async def run(self) -> None:
        while True:
            if self._failure is not None:
                raise self._failure
            # One of each in turn: a place is filled as soon as it is free, and what is finished at once goes on while
            # it is still in the processor's caches.
            while (bool(self._finished) and self._hand_on()) | self._begin_next():
                pass
            # What came of the last one may wait for room below, and nobody else would hand it over.
            self.target.push()
            if self._under_way == 0 and not self._finished and self.source.ended:
                return
            await self.woken()

    def _hand_on(self) -> bool:
        """What was finished first; false while the output is full."""
        delivery, product = self._finished[0]
        if not self.target.offer(product):
            return False
        self._finished.popleft()
        delivery.done()
        return True

    def _begin_next(self) -> bool:
        """Begin the next item; false when there is none, or no room for it."""
        if self._under_way + len(self._finished) >= self.room:
            return False
        delivery = self.source.take()
        if delivery is None:
            return False
        self._under_way += 1
        self.begin(delivery)
        return True
