"""The words of a command line, before they are read."""

from itertools import zip_longest
from typing import Final

_ANY_PORT: Final = "127.0.0.1:0"
_OPTION: Final = "--dashboard"


def with_default(words: list[str]) -> list[str]:
    """`--dashboard` may stand alone: then it means an address of this machine and any port that is free."""
    found: list[str] = []
    for word, following in zip_longest(words, words[1:], fillvalue=""):
        alone = word == _OPTION and not _is_address(following)
        found.append(f"{_OPTION}={_ANY_PORT}" if alone else word)
    return found


def _is_address(word: str) -> bool:
    """A seed may stand there as well; but nobody crawls an address of which only a port is named."""
    host, _, port = word.rpartition(":")
    return port.isdigit() and (host == "localhost" or host.startswith("[") or host.replace(".", "").isdigit())
