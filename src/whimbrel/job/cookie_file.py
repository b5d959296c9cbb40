"""Whether a file of cookies is one: libcurl passes over every line that it cannot read, and says nothing; and when a
line is too long for it, it makes no request at all any more."""

import re
from pathlib import Path
from typing import Final

from whimbrel.job.options import OptionError

_FIELDS: Final = 7
_HTTP_ONLY: Final = "#HttpOnly_"
_MOST_LINE_BYTES: Final = 5_000
"""Of a line, comments included. libcurl 8.23 fails every request when one is longer."""
_DOMAIN: Final = re.compile(r";\s*domain\b([^;]*)", re.IGNORECASE)
_HOST: Final = re.compile(r"\s*=\s*\.?(?:localhost|[a-z0-9_-]+(?:\.[a-z0-9_-]+)+)\s*", re.IGNORECASE)
"""libcurl sends a cookie to every host when it cannot make a host of its domain."""


def check_cookie_file(name: str) -> None:
    """Raises OptionError if a file has a line that is too long or no cookie in Netscape's format, or no cookie at all.
    An empty name is no file; one that is not there is the transport's to tell."""
    if not name or not Path(name).is_file():
        return
    lines = Path(name).read_bytes().split(b"\n")
    if lines[0].lstrip()[:1] in (b"[", b"{"):
        raise OptionError(f"cookies: {name} is not a cookie file: it is JSON; {_REMEDY}")
    count = 0
    for number, line in enumerate(lines, 1):
        if len(line) > _MOST_LINE_BYTES:
            raise OptionError(
                f"cookies: line {number} of {name} has {len(line):,} bytes, and only {_MOST_LINE_BYTES:,} can be read; "
                "delete that cookie"
            )
        if b"\0" in line:
            raise OptionError(
                f"cookies: line {number} of {name} has a NUL, which ends it for libcurl; delete that line"
            )
        text = line.decode("utf-8", "replace").removesuffix("\r")
        if not text.strip() or (text.startswith("#") and not text.startswith(_HTTP_ONLY)):
            continue
        if not _is_cookie(text):
            raise OptionError(f"cookies: {name} is not a cookie file: line {number} is no cookie; {_REMEDY}")
        count += 1
    if not count:
        raise OptionError(f"cookies: {name} holds no cookie; {_REMEDY}")


_REMEDY: Final = (
    "export it in Netscape's format (cookies.txt): on each line domain, subdomains, path, secure, expiry, name and "
    "value, with tabs between"
)


def _is_cookie(line: str) -> bool:
    """An empty value may be left out, as libcurl has it; it also reads header lines, if they say whom they are for."""
    if line.lower().startswith("set-cookie:"):
        domains = _DOMAIN.findall(line)
        return len(domains) == 1 and _HOST.fullmatch(domains[0]) is not None
    return len(line.split("\t")) in (_FIELDS - 1, _FIELDS)
