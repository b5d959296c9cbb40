"""What an exhibit is, and what a correct crawl makes of one."""

from collections.abc import Callable
from dataclasses import dataclass
from hashlib import shake_128
from html import escape
from typing import Final

from whimbrel.simweb.answer import Answer, Reply, SimRequest, html
from whimbrel.simweb.host import SimHost, SimHosts
from whimbrel.simweb.topic import COMMON, VOCABULARY

PREFIX: Final = "/x/"


@dataclass(frozen=True, slots=True)
class Finding:
    """What a correct crawl makes of one URL.

    `links` are the absolute canonical URLs it discovers there, in document order. `payload` names the class of equal
    bodies where the answer is a script; for replies the body itself decides. `near` names the class of pages that are
    alike but not equal.
    """

    outcome: str
    reason: str
    links: tuple[str, ...] = ()
    payload: str = ""
    near: str = ""


STORED: Final = Finding("stored", "new")


@dataclass(frozen=True, slots=True)
class ExhibitPlace:
    """Where an exhibit stands: `/x/NAME/REST?QUERY` on a host."""

    hosts: SimHosts
    host: SimHost
    name: str
    rest: str = "0"
    query: str = ""

    @property
    def k(self) -> int:
        """The number in the first segment of the rest; 0 when there is none."""
        digits = self.rest.partition("/")[0]
        return int(digits) if digits.isascii() and digits.isdigit() and len(digits) < 10 else 0

    def path(self, rest: str | None = None, query: str = "", name: str | None = None) -> str:
        end = f"?{query}" if query else ""
        return f"{PREFIX}{name or self.name}/{self.rest if rest is None else rest}{end}"

    def url(self, rest: str | None = None, query: str = "", name: str | None = None) -> str:
        return self.host.origin + self.path(rest, query, name)

    def found_path(self) -> str:
        """A leaf that only this exhibit links to: reaching it proves that the link was found."""
        return self.path(query=f"from={self.name}", name="found")

    def found(self) -> tuple[str, ...]:
        return (self.host.origin + self.found_path(),)

    def words(self, count: int) -> list[str]:
        """Words that no other place has in this order, one in four of them the topic's."""
        own = VOCABULARY[self.host.topic]
        where = f"{self.host.content} {self.name} {self.rest} {self.query}".encode(errors="surrogatepass")
        draws = shake_128(where).digest(2 * count)
        return [
            own[word % len(own)] if chance & 3 == 0 else COMMON[word % len(COMMON)]
            for chance, word in zip(draws[::2], draws[1::2], strict=True)
        ]

    def document(self, main: str = "", head: str = "", title: str = "") -> str:
        """A small page that no other place has."""
        title = escape(title or f"{self.name} {self.rest}", quote=False)
        where = escape(f"{self.name} {self.rest} {self.query} of site {self.host.content}", quote=False)
        filler = " ".join(self.words(32))
        return (
            f'<!DOCTYPE html>\n<html lang="en"><head><title>{title}</title>{head}</head>\n'
            f"<body><h1>{title}</h1><p>This is {where}.</p>\n{main}<p>{filler}</p></body></html>\n"
        )

    def page(self, main: str = "", head: str = "") -> Reply:
        return html(self.document(main, head))


Respond = Callable[[ExhibitPlace, SimRequest], Answer]
Judge = Callable[[ExhibitPlace], Finding]


@dataclass(frozen=True, slots=True)
class Exhibit:
    """A page exhibit. `respond` and `judge` are pure functions, so the same place always gives the same answer; only
    exhibits that recover look at `SimRequest.attempt`, and only those about connections at `SimRequest.reused`."""

    name: str
    family: str
    summary: str
    respond: Respond
    judge: Judge


@dataclass(frozen=True, slots=True)
class HostExhibit:
    """A variant of a whole host: its robots.txt, or trouble with its name, its address or its certificate."""

    name: str
    family: str
    summary: str
    outcome: str = ""
    """The outcome of each URL on such a host; empty when the host can be crawled."""
    reason: str = ""


def always(outcome: str, reason: str) -> Judge:
    finding = Finding(outcome, reason)
    return lambda place: finding


def stored_with_link(place: ExhibitPlace) -> Finding:
    return Finding("stored", "new", place.found())


def serve_page(place: ExhibitPlace, request: SimRequest) -> Answer:
    return place.page()


def serve_with_link(place: ExhibitPlace, request: SimRequest) -> Answer:
    return place.page(f'<p><a href="{place.found_path()}">found</a></p>')
