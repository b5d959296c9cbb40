"""Whoever is told when something has changed."""

from collections.abc import Callable


class Told:
    """A base for parts that others wait for. `listen` may be called before the part is open."""

    _listeners: tuple[Callable[[], None], ...] = ()

    def listen(self, changed: Callable[[], None]) -> None:
        """Call back when it is worth looking again."""
        self._listeners = (*self._listeners, changed)

    def _tell(self) -> None:
        for changed in self._listeners:
            changed()
