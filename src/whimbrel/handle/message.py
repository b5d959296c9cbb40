"""What goes to workers that run handlers, and what comes back: MessagePack."""

from typing import Any, Final

import msgspec

from whimbrel.handle.page import RawPage

FILTER: Final = "filter"
"""Why a link is not followed that a filter refuses."""
FILTER_ERROR: Final = "filter-error"
"""The same where a filter failed."""


class ArchiveRef(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """Where the archive has a page: the worker reads it itself."""

    directory: str
    file: str
    offset: int
    length: int


class HandlerTask(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A page for handlers to look at."""

    raw: RawPage
    handle: bool = True
    """False when only `links` are to be judged."""
    links: tuple[str, ...] = ()
    """URLs that filters have not judged yet."""
    ref: ArchiveRef | None = None
    """Where headers and payload are, when they do not come along."""
    max_items_bytes: int = 64_000_000
    """Of memory, for what handlers make of it."""


class HandlerResult(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """What handlers made of a page."""

    items: list[tuple[str, list[Any], bytes]] = []
    """Table, values, and a hash of the key; empty without a key."""
    tables: dict[str, tuple[tuple[str, str], ...]] = {}
    """The columns of each of these tables."""
    links: list[tuple[str, int]] = []
    """URL and priority, those included that filters refuse."""
    refused: list[str] = []
    """Those of the task's links, and of these, that a filter does not want."""
    filter_failed: list[str] = []
    """Those on which a filter failed."""
    filter_error: str = ""
    """The first of these failures: a traceback."""
    nowhere: int = 0
    """Links that lead to no http or https URL."""
    handlers: str = ""
    """Names of those that looked at the page."""
    error: str = ""
    """What a person needs to find the mistake: a traceback."""
    printed: str = ""
    elapsed_ms: float = 0.0
    outcome: str = "ok"
    """`ok`, `error` if a handler raised, `filter-error` if only a filter did, else as in `WorkerReply`: `timeout`,
    `died` or `lost`."""
    items_bytes: int = 0
    """What the items take in memory, about."""


encode_task = msgspec.msgpack.Encoder().encode
encode_result = msgspec.msgpack.Encoder().encode
decode_task = msgspec.msgpack.Decoder(HandlerTask).decode
decode_result = msgspec.msgpack.Decoder(HandlerResult).decode
