"""`user:password@` in a URL as somebody wrote it. It is never a part of a `Url`: these are the only functions that know
of it."""

import re
from typing import Final
from urllib.parse import unquote_to_bytes

import ada_url

REDACTED: Final = "redacted"
_AT_FIRST: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*+://)[^/?#\s]*@")
_IN_TEXT: Final = re.compile(r"(?<=://)[^/?#\s\"'<>]*@")


def userinfo(text: str) -> tuple[bytes, bytes] | None:
    """User and password of an absolute URL, percent-escapes decoded; None if it has neither, or is no URL."""
    if "@" not in text:
        return None
    try:
        found = ada_url.URL(text)
    except ValueError:
        return None
    if not (found.username or found.password):
        return None
    return unquote_to_bytes(found.username), unquote_to_bytes(found.password)


def redacted_url(text: str) -> str:
    """A URL as messages show it. Of a text that cannot be read as one, nothing is shown before its last `@`."""
    if "@" not in text:
        return text
    try:
        found = ada_url.URL(text) if "://" in text else None
    except ValueError:
        found = None
    if found is None:
        scheme, mark, _ = text.partition("://")
        return f"{scheme}{mark}" * bool(mark and "@" not in scheme) + f"{REDACTED}@{text.rpartition('@')[2]}"
    if not (found.username or found.password):
        return text
    found.username, found.password = REDACTED, ""
    return str(found.href)


def without_userinfo(text: str) -> str:
    """A URL without user and password; any other text as it is."""
    return _AT_FIRST.sub(r"\1", text, count=1) if "@" in text and _AT_FIRST.match(text) else text


def redacted_text(text: str) -> str:
    """Any text, without the user and the password of the URLs in it."""
    return _IN_TEXT.sub(f"{REDACTED}@", text) if "@" in text else text
