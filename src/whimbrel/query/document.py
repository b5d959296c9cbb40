"""Documents as they were kept: what the archive holds of a page, together with its row."""

from typing import Any, Final

import msgspec

from whimbrel.archive.head import head_fields
from whimbrel.archive.read import StoredCapture
from whimbrel.fetch.coding import decode

_MOST_BYTES: Final = 1 << 30
"""Of one body once its codings are taken off."""


class Document(msgspec.Struct, frozen=True):
    """A page of a crawl with its body."""

    url: str
    """Canonical, as it was asked for."""
    status: int
    """Of the answer."""
    headers: dict[str, str]
    """Names in lower case; those that came more than once are joined by commas."""
    body: bytes
    """Content codings taken off."""
    row: dict[str, Any]
    """Its row of `pages`, without the text."""
    http_head: bytes = b""
    """As it was received."""


def decoded_body(stored: StoredCapture) -> bytes:
    """A body whose coding is broken or unknown is as it was received."""
    return decode(stored.payload, head_fields(stored.http_head).get("content-encoding", ""), _MOST_BYTES).body
