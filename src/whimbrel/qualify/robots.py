"""The rules of a robots.txt for one agent, over Protego.

Protego sorts rules and matches patterns, in linear time. Around it we see to what RFC 9309 asks for and Protego 0.7
does otherwise (tests/qualify/test_protego.py shows each):

- groups and lines are read by `robots_lines.py`;
- `$` at the end of a pattern also stands for a dollar sign there, which makes an Allow wider than it is: so no dollar
  sign ever reaches it;
- octets that are not UTF-8 are all the same to it, `%E9` and `%E8`: so no octet beyond ASCII ever reaches it;
- `/` and `%2F` differ for it, while §2.2.2 has them compared as equal, like all that is reserved;
- `Allow: /index.html` allows `/` too: so directories are looked up in rules without such lines.
"""

import re
from typing import Final, Self
from urllib.parse import unquote

from protego import Protego

from whimbrel.qualify.robots_lines import Records, read_records

MAX_WILDCARDS: Final = 5_000
"""`*` and `$` in all patterns together: such patterns are tried one by one, and a piece between two stars costs as much
as a pattern. Further ones are read as prefixes where they forbid, and not at all where they allow."""
_INDEX: Final = "/index.html"
_ODD: Final = re.compile(r"%(?:[0-9A-Fa-f]{2})?|[^!-#&-~]")
"""Whatever may not go to Protego as it is. A clean URL costs one scan."""
_DOLLAR: Final = "%z4"
_HIGH: Final = "ghijklmn"
"""Stand-ins must be three characters, so that lengths compare as those of escapes, and no escapes. Octet E9 is %m9."""


def comparable(text: str) -> str:
    """A path in the form that is compared: ASCII, stand-ins for dollar signs and octets beyond ASCII, no stray `%`."""
    return _ODD.sub(_replace, text)


def _replace(odd: re.Match[str]) -> str:
    found = odd[0]
    if len(found) == 3:
        return _octet(int(found[1:], 16), found)
    if found == "%":
        return "%25"
    return "".join(_octet(octet, f"%{octet:02X}") for octet in found.encode("utf-8", "surrogatepass"))


def _octet(octet: int, escape: str) -> str:
    if octet >= 0x80:
        return f"%{_HIGH[(octet >> 4) - 8]}{octet & 15:X}"
    return {0x24: _DOLLAR, 0x2F: "/"}.get(octet, escape)


class RobotsRules:
    """What a robots.txt allows one agent. Made by `parse`; never changes."""

    __slots__ = ("_directories", "_rules", "crawl_delay_s", "notes", "sitemaps")

    def __init__(self, records: Records) -> None:
        self.crawl_delay_s = records.crawl_delay_s
        """What the file asks for, however long; 0 when it asks for none. The gate decides how much is honoured."""
        self.sitemaps = records.sitemaps
        notes = []
        if not records.readable:
            notes.append("robots.txt has no line that can be read")
        rules, shortened = _bounded(records.rules)
        if shortened:
            notes.append(f"only the first {MAX_WILDCARDS} wildcards of robots.txt are read as such")
        self.notes = tuple(notes)
        """For people: what was not taken as it stands."""
        self._rules: Protego | None = None
        self._directories: Protego | None = None
        if not all(allow for allow, _ in rules):
            self._rules = self._directories = _protego(rules)
            plain = [rule for rule in rules if not (rule[0] and unquote(rule[1]).endswith(_INDEX))]
            if len(plain) < len(rules):
                self._directories = _protego(plain)

    @classmethod
    def parse(cls, text: str, agent: str) -> Self:
        """Never raises. `agent` is a user agent or its product token; of a cut file give whole lines only."""
        return cls(read_records(text, agent))

    @property
    def empty(self) -> bool:
        """Nothing is forbidden: no URL needs to be looked up."""
        return self._rules is None

    def allows(self, url_text: str) -> bool:
        """/robots.txt itself always is."""
        rules = self._rules
        if rules is None:
            return True
        if url_text.endswith("/") and _INDEX not in url_text:
            rules = self._directories
            if rules is None:
                return True
        return rules.can_fetch(comparable(url_text), "*")


def _bounded(rules: tuple[tuple[bool, str], ...]) -> tuple[list[tuple[bool, str]], bool]:
    """Rules with comparable patterns, only so many of them with wildcards; and whether some had to give theirs up."""
    taken: list[tuple[bool, str]] = []
    wildcards = 0
    for allow, pattern in rules:
        anchor = "$" if pattern.endswith("$") else ""
        clean = comparable(pattern.removesuffix("$"))
        if clean[:1] not in ("/", "*"):
            continue  # It matches nothing: every path begins with a slash.
        special = bool(anchor) or "*" in clean
        wildcards += clean.count("*") + len(anchor)
        if not special or wildcards <= MAX_WILDCARDS:
            taken.append((allow, clean + anchor))
        elif not allow:
            taken.append((allow, clean.partition("*")[0] or "/"))
    return list(dict.fromkeys(taken)), wildcards > MAX_WILDCARDS


def _protego(rules: list[tuple[bool, str]]) -> Protego:
    lines = [f"{'Allow' if allow else 'Disallow'}: {pattern}" for allow, pattern in rules]
    return Protego.parse("\n".join(["User-agent: *", *lines]))
