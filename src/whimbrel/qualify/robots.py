"""The rules of a robots.txt for one agent (RFC 9309 §2.2.2 and §2.2.3).

Of the rules that match a path the longest one decides, and of two that are equally long the one that allows. Paths and
patterns are compared octet by octet, so that an escape and what it stands for are the same. When lengths are compared,
what is unreserved, `/`, `=` and `*` count as one, and every other octet as three, as if it were escaped.

A file may have 30,000 rules, so they are not tried one by one: plain ones are looked up in a table, once for each
length that there is; only those with `*` or `$` are tried, the longest first. (Protego 0.7 tries all: 5 ms for a URL
where this takes a few µs. It keeps them in three times the memory, and in cycles.)
"""

import re
from typing import Final, NamedTuple, Self

from whimbrel.qualify.robots_lines import Records, read_records

MAX_WILDCARDS: Final = 5_000
"""`*` and `$` in all patterns together: such patterns are tried one by one, and a piece between two stars costs as much
as a pattern. Further ones are read as prefixes where they forbid, and not at all where they allow."""
_RULES_BYTES: Final = 1_500
_RULE_BYTES: Final = 120
_WILDCARD_BYTES: Final = 250
_PIECE_BYTES: Final = 60
"""What rules, and each of them, take besides their texts."""
_AUTHORITY: Final = 8
"""A slash at or after this place ends the authority of an absolute URL."""
_ROBOTS: Final = "/robots.txt"
_ESCAPE: Final = re.compile(r"%([0-9A-Fa-f]{2})|([^\x00-\x7f]+)")
_ODD: Final = re.compile(r"[^A-Za-z0-9\-._~/=]")
"""Octets that count as three."""
_STARS: Final = re.compile(r"\*+")


def length_of(pattern: str) -> int:
    """What rules are compared by."""
    pieces = pattern.removesuffix("$").split("*")
    return sum(_length(_octets(piece)) for piece in pieces) + len(pieces) - 1 + pattern.endswith("$")


def _length(octets: str) -> int:
    return len(octets) + 2 * len(_ODD.findall(octets))


def _octets(text: str) -> str:
    """A text as octets, each of them a character. A clean one costs one scan."""
    return text if text.isascii() and "%" not in text else _ESCAPE.sub(_octets_of, text)


def _octets_of(found: re.Match[str]) -> str:
    return chr(int(found[1], 16)) if found[1] else found[2].encode("utf-8", "surrogatepass").decode("latin-1")


class _Wildcard(NamedTuple):
    """A pattern with `*` or `$`."""

    length: int
    allows: bool
    begin: str
    """What stands before the first star; all of it when there is none."""
    pieces: tuple[str, ...]
    """What stands after each star."""
    ends: bool
    """It has `$` at its end."""

    def matches(self, path: str) -> bool:
        if not path.startswith(self.begin):
            return False
        if not self.pieces:
            return len(path) == len(self.begin)
        at = len(self.begin)
        for piece in self.pieces[:-1]:
            at = path.find(piece, at)
            if at < 0:
                return False
            at += len(piece)
        last = self.pieces[-1]
        return len(path) - len(last) >= at and path.endswith(last) if self.ends else path.find(last, at) >= 0


class RobotsRules:
    """What a robots.txt allows one agent. Made by `parse`; never changes."""

    __slots__ = ("_lengths", "_plain", "_wildcards", "bytes", "crawl_delay_s", "notes", "sitemaps")

    def __init__(self, records: Records) -> None:
        self.crawl_delay_s = records.crawl_delay_s
        """What the file asks for, however long; 0 when it asks for none. The gate decides how much is honoured."""
        self.sitemaps = records.sitemaps
        notes = []
        if not records.readable:
            notes.append("robots.txt has no line that can be read")
        self._plain: dict[str, bool] = {}
        """Patterns that match what begins with them, as octets, and whether they allow it."""
        self._wildcards: list[_Wildcard] = []
        if self._read(records.rules):
            notes.append(f"only the first {MAX_WILDCARDS} wildcards of robots.txt are read as such")
        self.notes = tuple(notes)
        """For people: what was not taken as it stands."""
        if self._forbids_nothing():
            self._plain, self._wildcards = {}, []
        self._wildcards.sort(reverse=True)
        self._lengths = sorted(set(map(len, self._plain)), reverse=True)
        self.bytes = _RULES_BYTES + sum(map(len, self.sitemaps)) + self._plain_bytes() + self._wildcard_bytes()
        """What it takes in memory, about."""

    @classmethod
    def parse(cls, text: str, agent: str) -> Self:
        """Never raises. `agent` is a user agent or its product token; of a cut file give whole lines only."""
        return cls(read_records(text, agent))

    @property
    def empty(self) -> bool:
        """Nothing is forbidden: no URL needs to be looked up."""
        return not self._plain and not self._wildcards

    def allows(self, url_text: str) -> bool:
        """/robots.txt itself always is. The text is that of a URL, or of a path."""
        if self.empty:
            return True
        target = url_text if url_text[:1] == "/" else url_text[url_text.index("/", _AUTHORITY) :]
        if target == _ROBOTS:
            return True
        path = _octets(target)
        pattern, allowed = self._longest_plain(path)
        if not self._wildcards:
            return allowed
        longest = _length(pattern)
        for rule in self._wildcards:
            if rule.length < longest:
                break
            if rule.matches(path):
                # They come in the order of their lengths, and those that allow first.
                return rule.allows or (allowed and rule.length == longest)
        return allowed

    def _longest_plain(self, path: str) -> tuple[str, bool]:
        """The longest plain pattern that matches, and whether it allows; empty, and true, without one."""
        plain = self._plain
        for length in self._lengths:
            pattern = path[:length]
            found = plain.get(pattern)
            if found is not None:
                return pattern, found
        return "", True

    def _read(self, rules: tuple[tuple[bool, str], ...]) -> bool:
        """Sort rules by their kind; true when some had to give their wildcards up."""
        wildcards = 0
        for allow, pattern in dict.fromkeys(rules):
            ends = pattern.endswith("$")
            begin, *pieces = map(_octets, _STARS.split(pattern.removesuffix("$")))
            if begin[:1] != "/" and not (pieces and not begin):
                continue  # It matches nothing: every path begins with a slash.
            wildcards += pattern.count("*") + ends
            if not ends and not pieces:
                self._plain[begin] = allow or self._plain.get(begin, False)
            elif wildcards <= MAX_WILDCARDS:
                self._wildcards.append(_Wildcard(length_of(pattern), allow, begin, tuple(pieces), ends))
            elif not allow:
                self._plain.setdefault(begin or "/", False)
        return wildcards > MAX_WILDCARDS

    def _plain_bytes(self) -> int:
        return _RULE_BYTES * len(self._plain) + sum(map(len, self._plain))

    def _wildcard_bytes(self) -> int:
        rules = self._wildcards
        return sum(_WILDCARD_BYTES + _PIECE_BYTES * (1 + len(rule.pieces)) + rule.length for rule in rules)

    def _forbids_nothing(self) -> bool:
        return all(self._plain.values()) and all(rule.allows for rule in self._wildcards)
