"""What the archive gets of a visit: a response, or a revisit record of a payload that it has already."""

from hashlib import sha1
from typing import Final

from whimbrel.archive.api import Capture, Reference, ResponseCapture, RevisitCapture
from whimbrel.dedupe.api import FirstCapture
from whimbrel.fetch.body import MemoryDocument
from whimbrel.parse.api import Parsed, ParsedPage

_NO_DIGEST: Final = sha1(b"", usedforsecurity=False).digest()
"""Of a body that must not be archived."""


def captures_of(parsed: Parsed, earlier: FirstCapture | None, types: tuple[str, ...] = ()) -> tuple[Capture, ...]:
    """Every answer that ended a URL's visits is kept, whatever its status. `earlier` is the capture that has the same
    payload; `types` are those whose bodies are kept, all when empty."""
    exchange, visit = parsed.exchange, parsed.visit
    response = exchange.response
    if response is None:
        return ()
    metadata = (
        ("via", visit.source),
        ("hopsFromSeed", str(visit.depth)),
        ("fetchTimeMs", str(round(exchange.elapsed_s * 1000))),
    )
    common = (visit.url.text, exchange.started_s, exchange.address, response.http_version, exchange.request_head)
    if response.status == 304:
        return (RevisitCapture(*common, response.head, "server-not-modified", metadata=metadata),)
    digest, truncated = parsed.digest, response.truncated
    if earlier is not None:
        original = Reference(earlier.url, earlier.at_s)
        revisit = (original, digest, truncated, metadata)
        return (RevisitCapture(*common, response.head, "identical-payload-digest", *revisit),)
    if _may_keep(parsed.page, types):
        return (ResponseCapture(*common, response.head, response.document, digest, truncated, metadata),)
    return (ResponseCapture(*common, response.head, MemoryDocument(b""), _NO_DIGEST, "unspecified", metadata),)


def _may_keep(page: ParsedPage | None, types: tuple[str, ...]) -> bool:
    """Whether the body may be archived: the page does not forbid it, and its type is among those asked for."""
    if page is None:
        return True
    wanted = not types or any(
        page.mime == kind or (kind.endswith("/*") and page.mime.startswith(kind[:-1])) for kind in types
    )
    return wanted and "noarchive" not in page.robots
