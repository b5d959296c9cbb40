"""Whether a file of cookies is one: libcurl passes over every line that it cannot read, and says nothing."""

from pathlib import Path
from typing import Final

from whimbrel.job.options import OptionError

_FIELDS: Final = 7
_HTTP_ONLY: Final = "#HttpOnly_"


def check_cookie_file(name: str) -> None:
    """Raises OptionError if a file has a line that is no cookie in Netscape's format, or no cookie at all. An empty
    name is no file; one that is not there is the transport's to tell."""
    if not name or not Path(name).is_file():
        return
    text = Path(name).read_text(encoding="utf-8", errors="replace")
    count = 0
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or (line.startswith("#") and not line.startswith(_HTTP_ONLY)):
            continue
        if not _is_cookie(line):
            is_json = text.lstrip()[:1] in ("[", "{")
            where = "it is JSON" if is_json else f"line {number} is no cookie"
            raise OptionError(f"cookies: {name} is not a cookie file: {where}; {_REMEDY}")
        count += 1
    if not count:
        raise OptionError(f"cookies: {name} holds no cookie; {_REMEDY}")


_REMEDY: Final = (
    "export it in Netscape's format (cookies.txt): on each line domain, subdomains, path, secure, expiry, name and "
    "value, with tabs between"
)


def _is_cookie(line: str) -> bool:
    """An empty value may be left out, as libcurl has it; it also reads header lines."""
    return line.lower().startswith("set-cookie:") or len(line.split("\t")) in (_FIELDS - 1, _FIELDS)
