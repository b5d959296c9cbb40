"""A base for parts that others wait for."""

from collections.abc import Callable
from typing import Protocol


class Observable:
    """Calls its listeners when it is worth looking again. They may be added before the part is open."""

    _listeners: tuple[Callable[[], None], ...] = ()

    def listen(self, changed: Callable[[], None]) -> None:
        """Call `changed` from now on. A function that is added twice is called twice."""
        self._listeners = (*self._listeners, changed)

    def unlisten(self, changed: Callable[[], None]) -> None:
        """End one `listen`; without one it does nothing."""
        kept = list(self._listeners)
        if changed in kept:
            kept.remove(changed)
            self._listeners = tuple(kept)

    def _tell(self) -> None:
        for changed in self._listeners:
            changed()


class GroupStatus(Protocol):
    """Results that wait to become durable, for parts that make more of them."""

    @property
    def is_full(self) -> bool:
        """Nothing more should be made now. This ends by itself, and listeners are told."""

    def listen(self, changed: Callable[[], None]) -> None: ...

    def unlisten(self, changed: Callable[[], None]) -> None: ...
