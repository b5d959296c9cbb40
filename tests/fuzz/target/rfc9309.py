"""robots.txt as RFC 9309 has it, written down a second time and as plainly as possible: slow, and for comparison only.

What the package does beyond the standard on purpose is here, too: common misspellings, lines without a colon.
"""

import re
from typing import Final

_UNRESERVED: Final = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
_PLAIN: Final = _UNRESERVED | frozenset(b"/=")
"""What counts as one octet when lengths are compared; all else is compared as an escape of three."""
_AGENT: Final = ("user-agent", "useragent", "user agent")
_DISALLOW: Final = ("disallow", "dissallow", "dissalow", "disalow", "diasllow", "disallaw")
_OTHERS: Final = ("allow", "crawl-delay", "crawl delay", "sitemap", "sitemaps", "site-map")
_KNOWN: Final = frozenset((*_AGENT, *_DISALLOW, *_OTHERS))
_STAR: Final = -1
Rule = tuple[bool, str]


def rules_for(text: str, token: str) -> list[Rule]:
    """Of the groups that name the token, or else of those for everybody (§2.2.1)."""
    groups: list[tuple[set[str], list[Rule]]] = []
    begins = True
    for name, value in _records(text):
        if name in _AGENT:
            if begins:
                groups.append((set(), []))
            begins = False
            groups[-1][0].add(_token(value) if value else "")
        elif name == "allow" or name in _DISALLOW:
            begins = True
            if groups and value:
                groups[-1][1].append((name == "allow", value))
    chosen = token if any(token in names for names, _ in groups) else "*"
    return [rule for names, rules in groups if chosen in names for rule in rules]


def is_allowed(rules: list[Rule], path: str) -> bool:
    """By the longest rule that matches; of two that are equally long the one that allows (§2.2.2)."""
    octets = _octets(path)
    if path == "/robots.txt":
        return True
    matching = [(_length(pattern), allow) for allow, pattern in rules if _matches(pattern, octets)]
    return max(matching)[1] if matching else True


def _records(text: str) -> list[tuple[str, str]]:
    found = []
    for line in re.split(r"\r\n|\r|\n", text.removeprefix("\ufeff")):
        record = line.split("#", 1)[0]
        name, colon, value = record.partition(":")
        if len(name) < 64 and name.strip().lower() in _KNOWN:
            found.append((name.strip().lower(), value.strip()))
            continue
        word, _, rest = record.strip().partition(" ")
        if word.lower() in _KNOWN and (not colon or "://" in record):
            found.append((word.lower(), rest.strip()))
    return found


def _token(value: str) -> str:
    found = re.match(r"[^\s/;,()*]+", value)
    return found[0].lower() if found else "*"


def _octets(text: str, *, stars: bool = False) -> list[int]:
    found, at, data = [], 0, text.encode("utf-8", "surrogatepass")
    while at < len(data):
        escape = data[at : at + 3]
        if re.fullmatch(rb"%[0-9A-Fa-f]{2}", escape):
            # An escaped character is itself, whether it is reserved or not.
            found.append(int(escape[1:], 16))
            at += 3
        else:
            found.append(_STAR if stars and data[at] == ord("*") else data[at])
            at += 1
    return found


def _length(pattern: str) -> int:
    octets = _octets(pattern.removesuffix("$"), stars=True)
    return sum(1 if octet == _STAR or octet in _PLAIN else 3 for octet in octets) + pattern.endswith("$")


def _matches(pattern: str, path: list[int]) -> bool:
    """`*` is any number of octets, `$` at the end is the end, and all else is itself (§2.2.3)."""
    wanted = _octets(pattern.removesuffix("$"), stars=True)
    if not pattern.endswith("$"):
        wanted.append(_STAR)
    reached = {0}
    for octet in wanted:
        if not reached:
            return False
        if octet == _STAR:
            reached = set(range(min(reached), len(path) + 1))
        else:
            reached = {at + 1 for at in reached if at < len(path) and path[at] == octet}
    return len(path) in reached
