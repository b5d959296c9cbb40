"""What the frontier keeps of itself, beside hosts and queues."""

import secrets
from typing import Final

import msgspec

from whimbrel.state.api import State

_SECRET: Final = b"secret"


class Meta(msgspec.Struct, array_like=True):
    """What the frontier keeps of itself. Changed in memory, written when a group is sealed."""

    number: int = 0
    queued: int = 0
    taken: int = 0
    """Requests that are over. Those under way are not counted: after a crash they are made again."""
    hosts: int = 0
    max_pages_per_host: int | None = None
    """The limit that hosts are held back by."""
    order: str = ""
    """The order of the queues, and how often it has changed."""
    order_changes: int = 0
    block: tuple[str, ...] = ()
    """The hosts that were blocked: who is held back for that waits until the list is another."""


def kept_secret(state: State) -> bytes:
    """The key of all hashes: made once per crawl and kept, so that nobody can craft collisions."""
    found = state.get("meta", _SECRET)
    if found is None:
        found = secrets.token_bytes(16)
        state.put("meta", _SECRET, found)
    return found
