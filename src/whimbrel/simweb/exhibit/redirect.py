"""Redirects: each status, chains, loops, other hosts, private addresses, and Location headers that make no sense."""

from typing import Final

from whimbrel.simweb.answer import Answer, Reply, SimRequest, html, redirect
from whimbrel.simweb.exhibit.api import STORED, Exhibit, ExhibitPlace, Finding, Judge, Respond, always

FAMILY: Final = "redirect"
MAX_CHAIN: Final = 10
"""A correct crawl follows this many redirects in a row and no more."""

PRIVATE_TARGETS: Final = {
    "redirect-private": ("http://10.0.0.1/secret", "http://10.0.0.1/secret"),
    "redirect-metadata": ("http://169.254.169.254/latest/meta-data/", "http://169.254.169.254/latest/meta-data/"),
    "redirect-decimal": ("http://167772161/decimal", "http://10.0.0.1/decimal"),
    "redirect-octal": ("http://012.0.0.01/octal", "http://10.0.0.1/octal"),
    "redirect-ipv6": ("http://[fd00::1]/ula", "http://[fd00::1]/ula"),
    "redirect-mapped": ("http://[::ffff:10.0.0.1]/mapped", "http://[::ffff:a00:1]/mapped"),
}
"""Locations inside private networks, as sent and as WHATWG parsing writes them."""


def _code(code: int) -> Respond:
    return lambda place, request: redirect(place.found_path(), code)


def _code_judge(code: int) -> Judge:
    return lambda place: Finding("redirected", f"http-{code}", place.found())


def _left(place: ExhibitPlace, length: int) -> int:
    """Redirects still to come at this place of a chain: `K` is its start, `K/N` has N left."""
    tail = place.rest.partition("/")[2]
    return min(int(tail), length) if tail.isascii() and tail.isdigit() and len(tail) < 4 else length


def _chain(length: int) -> Respond:
    def respond(place: ExhibitPlace, request: SimRequest) -> Answer:
        left = _left(place, length)
        return redirect(place.path(f"{place.k}/{left - 1}")) if left else place.page()

    return respond


def _judge_chain(length: int) -> Judge:
    def judge(place: ExhibitPlace) -> Finding:
        left = _left(place, length)
        if left == 0:
            return STORED
        if length - left >= MAX_CHAIN:
            return Finding("failed", "redirect-limit")
        return Finding("redirected", "http-302", (place.url(f"{place.k}/{left - 1}"),))

    return judge


def _loop_next(place: ExhibitPlace) -> str:
    return f"{place.k}/b" if place.rest == str(place.k) else str(place.k)


def _loop(place: ExhibitPlace, request: SimRequest) -> Answer:
    return redirect(place.path(_loop_next(place)))


def _judge_loop(place: ExhibitPlace) -> Finding:
    return Finding("redirected", "http-302", (place.url(_loop_next(place)),))


def _other_host(place: ExhibitPlace) -> str:
    return place.hosts.origin((place.host.number + 1 + place.k) % place.hosts.spec.hosts) + "/"


def _location(value: str) -> Respond:
    return lambda place, request: redirect(value)


def _no_location(place: ExhibitPlace, request: SimRequest) -> Answer:
    return html(place.document(), 302)


def _relative(place: ExhibitPlace, request: SimRequest) -> Answer:
    return Reply(301, (("Location", f"../found/{place.rest}?from={place.name}#part"),))


def _redirected(url: str) -> Judge:
    return lambda place: Finding("redirected", "http-302", (url,))


EXHIBITS: Final = (
    *(
        Exhibit(f"redirect-{code}", FAMILY, f"{code} to a page", _code(code), _code_judge(code))
        for code in (301, 302, 303, 307, 308)
    ),
    Exhibit("redirect-chain", FAMILY, "five redirects, then a page", _chain(5), _judge_chain(5)),
    Exhibit("redirect-long", FAMILY, "twelve redirects, more than a crawl follows", _chain(12), _judge_chain(12)),
    Exhibit("redirect-loop", FAMILY, "two URLs that redirect to each other", _loop, _judge_loop),
    Exhibit(
        *("redirect-self", FAMILY, "redirects to itself", lambda place, request: redirect(place.path())),
        lambda place: Finding("redirected", "http-302", (place.url(),)),
    ),
    Exhibit(
        *("redirect-host", FAMILY, "redirects to another host", lambda place, request: redirect(_other_host(place))),
        lambda place: Finding("redirected", "http-302", (_other_host(place),)),
    ),
    *(
        Exhibit(name, FAMILY, f"redirects to {sent}", _location(sent), _redirected(canonical))
        for name, (sent, canonical) in PRIVATE_TARGETS.items()
    ),
    Exhibit(
        *("redirect-scheme", FAMILY, "redirects to file:///etc/passwd", _location("file:///etc/passwd")),
        always("redirected", "http-302"),
    ),
    Exhibit("redirect-nowhere", FAMILY, "302 without a Location", _no_location, always("failed", "bad-redirect")),
    Exhibit(
        *("redirect-relative", FAMILY, "a relative Location with dot segments and a fragment", _relative),
        lambda place: Finding("redirected", "http-301", place.found()),
    ),
)
