"""From the body of a robots.txt, as received, to text. Whatever the bytes are, nothing here raises."""

import re
from typing import Final

from whimbrel.fetch.coding import decode

_SURROGATE: Final = re.compile("[\udc80-\udcff]")


def robots_text(body: bytes, content_encoding: str, max_bytes: int) -> str | None:
    """The first `max_bytes` after decoding, in whole lines, without a byte order mark; None when it cannot be decoded.

    A line that the limit cuts is left out: `Disallow: /private/` cut after the slash would forbid everything. Bytes
    that are not UTF-8 become escapes, which is how a URL spells them.
    """
    found = decode(body, content_encoding, max_bytes + 1)  # one more, to see that there is more
    if found.trouble == "undecodable" or not found.known:
        return None
    decoded = found.body[: max_bytes + 1]
    if len(decoded) > max_bytes:
        whole = max(decoded.rfind(b"\n", 0, max_bytes + 1), decoded.rfind(b"\r", 0, max_bytes + 1))
        decoded = decoded[: whole + 1]
    text = decoded.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "surrogateescape")
    return _SURROGATE.sub(lambda found: f"%{ord(found[0]) - 0xDC00:02X}", text)
