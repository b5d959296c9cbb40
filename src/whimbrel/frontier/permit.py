"""Permits for domains and addresses, where one process has all hosts."""

from collections.abc import Callable

from whimbrel.flow import Provider
from whimbrel.frontier.api import Permit


class LocalPermits(Provider):
    """Grants everything: no other process reaches the same domains and addresses."""

    unlimited = True

    def acquire(self, permit: Permit, again: Callable[[], None]) -> float | None:  # noqa: ARG002
        return None

    def release(self, permit: Permit, ended_s: float | None) -> None:
        """Nothing was taken."""
