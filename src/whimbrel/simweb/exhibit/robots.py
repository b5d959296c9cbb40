"""robots.txt in every variant: what the file is, and what a correct crawl may fetch because of it.

The verdicts follow RFC 9309 and the stricter procedure of Agarwal et al. §3.4: unknown means no. Each variant says in
plain Python what it denies; nothing here parses robots.txt.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from whimbrel.simweb.answer import Answer, Close, Reply, Reset, Script, Send, SimRequest, Wait, html, redirect, text
from whimbrel.simweb.exhibit.api import ExhibitPlace

FAMILY: Final = "robots"
HOP_PREFIX: Final = "/robots-hop/"
_READ_BYTES: Final = 500 * 1024
_RULES: Final = "User-agent: *\nDisallow: /private/\n"

Denies = Callable[[str], bool]


def nothing(target: str) -> bool:
    return False


def everything(target: str) -> bool:
    return True


def private(target: str) -> bool:
    return target.startswith("/private/")


@dataclass(frozen=True, slots=True)
class RobotsVariant:
    """`qualified`: whether the host may be crawled at all; `lenient` the same under `--robots rfc9309`."""

    name: str
    summary: str
    respond: Callable[[ExhibitPlace, SimRequest], Answer]
    denies: Denies = nothing
    qualified: bool = True
    lenient: bool | None = None
    crawl_delay_s: float = 0.0

    def admits(self, *, rfc9309: bool) -> bool:
        return self.lenient if rfc9309 and self.lenient is not None else self.qualified


def _file(content: str | bytes) -> Callable[[ExhibitPlace, SimRequest], Answer]:
    return lambda place, request: text(content)


def _status(code: int) -> Callable[[ExhibitPlace, SimRequest], Answer]:
    return lambda place, request: html(place.document(f"<p>{code}</p>"), code)


def _page(place: ExhibitPlace, request: SimRequest) -> Answer:
    return html(place.document("<p>Welcome to our lovely site.</p>"))


def _wrong_type(place: ExhibitPlace, request: SimRequest) -> Answer:
    return html(_RULES)


def _huge(place: ExhibitPlace, request: SimRequest) -> Answer:
    filler = "# nothing to see here, move on\n"
    return text(_RULES + filler * (1 + _READ_BYTES // len(filler)) + "Disallow: /\n")


def _cut(place: ExhibitPlace, request: SimRequest) -> Answer:
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 4000\r\n\r\n"
    return Script((Send(head + _RULES.encode()), Close()), 200)


def _reset(place: ExhibitPlace, request: SimRequest) -> Answer:
    return Script((Reset(),))


def _stall(place: ExhibitPlace, request: SimRequest) -> Answer:
    return Script((Wait(3_600.0), Close()))


def _hops(count: int) -> Callable[[ExhibitPlace, SimRequest], Answer]:
    """robots.txt redirects to /robots-hop/1, that to /robots-hop/2, and so on; the last has the rules."""

    def respond(place: ExhibitPlace, request: SimRequest) -> Answer:
        digits = request.path.removeprefix(HOP_PREFIX)
        at = int(digits) if digits.isdigit() and len(digits) < 4 else 0
        return text(_RULES) if at >= count else redirect(f"{HOP_PREFIX}{at + 1}", 301)

    return respond


def _loop(place: ExhibitPlace, request: SimRequest) -> Answer:
    return redirect("/robots.txt", 302)


def _other_host(place: ExhibitPlace, request: SimRequest) -> Answer:
    spec = place.hosts.spec
    port = "" if spec.http_port == 80 else f":{spec.http_port}"
    return redirect(f"http://robots-rules.exhibit.{spec.suffix}{port}/robots.txt", 301)


def _redirect_missing(place: ExhibitPlace, request: SimRequest) -> Answer:
    return redirect("/no-robots-here", 301)


def _sitemap(place: ExhibitPlace, request: SimRequest) -> Answer:
    return text(f"{_RULES}\nSitemap: {place.host.origin}/sitemap.xml\n")


def _recovers(place: ExhibitPlace, request: SimRequest) -> Answer:
    return html(place.document(), 503) if request.attempt <= 2 else text(_RULES)


def _first_address(place: ExhibitPlace, request: SimRequest) -> Answer:
    return html(place.document(), 503) if request.address == place.host.addresses[0] else text(_RULES)


def _wildcard_denies(target: str) -> bool:
    return target.endswith(".html") and not target.startswith("/catalogue/")


def _two_groups(target: str) -> bool:
    return target.startswith(("/private/", "/notes/"))


def _longest(target: str) -> bool:
    return target.startswith("/private/") and not target.startswith("/private/1")


def _binary(place: ExhibitPlace, request: SimRequest) -> Answer:
    return Reply(200, (("Content-Type", "application/octet-stream"),), bytes((at * 89 + 7) % 256 for at in range(3000)))


_VARIANTS: Final = (
    RobotsVariant("allow-all", "a group that disallows nothing", _file("User-agent: *\nDisallow:\n")),
    RobotsVariant("empty", "200 with no bytes", _file("")),
    RobotsVariant("rules", "disallows /private/", _file(_RULES), private),
    RobotsVariant("deny-all", "disallows everything", _file("User-agent: *\nDisallow: /\n"), everything),
    RobotsVariant("missing-404", "404", _status(404)),
    RobotsVariant("gone-410", "410", _status(410)),
    RobotsVariant("bad-400", "400", _status(400)),
    RobotsVariant("unauthorized-401", "401", _status(401), qualified=False, lenient=True),
    RobotsVariant("forbidden-403", "403", _status(403), qualified=False, lenient=True),
    RobotsVariant("teapot-418", "418", _status(418), qualified=False, lenient=True),
    RobotsVariant("too-many-429", "429", _status(429), qualified=False),
    RobotsVariant("error-500", "500", _status(500), qualified=False),
    RobotsVariant("error-503", "503", _status(503), qualified=False),
    RobotsVariant("cut", "200 and the connection is cut", _cut, qualified=False),
    RobotsVariant("reset", "the connection is reset", _reset, qualified=False),
    RobotsVariant("stall", "never answers", _stall, qualified=False),
    RobotsVariant("recovers", "503 twice, then rules", _recovers, private),
    RobotsVariant("first-address", "503 at the first of two addresses, rules at the second", _first_address, private),
    RobotsVariant("html-page", "an HTML page instead of rules", _page),
    RobotsVariant("binary", "bytes that are no text", _binary),
    RobotsVariant("wrong-type", "rules sent as text/html", _wrong_type, private),
    RobotsVariant("bom", "rules after a byte order mark", _file(b"\xef\xbb\xbf" + _RULES.encode()), private),
    RobotsVariant("huge", "over 500 KiB; what stands beyond is not read", _huge, private),
    RobotsVariant(
        *("own-agent", "a group for Whimbrel beside one that forbids all"),
        *(_file("User-agent: *\nDisallow: /\n\nUser-agent: whimbrel\nDisallow: /private/\n"), private),
    ),
    RobotsVariant("other-agent", "forbids all to another crawler", _file("User-agent: googlebot\nDisallow: /\n")),
    RobotsVariant(
        *("group-merge", "two groups for the same agents"),
        _file(f"{_RULES}\nUser-agent: other\nDisallow: /\n\nUser-agent: *\nDisallow: /notes/\n"),
        _two_groups,
    ),
    RobotsVariant(
        *("wildcard", "* and $ in paths, and a longer Allow"),
        *(_file("User-agent: *\nDisallow: /*.html$\nAllow: /catalogue/\n"), _wildcard_denies),
    ),
    RobotsVariant(
        *("longest", "the longer of two matches wins"),
        *(_file("User-agent: *\nAllow: /private/1\nDisallow: /private/\n"), _longest),
    ),
    RobotsVariant(
        "percent", "a path with percent-encoded letters", _file("User-agent: *\nDisallow: /priv%61te/\n"), private
    ),
    RobotsVariant(
        *("sloppy", "odd case, spaces, comments and CR line ends"),
        *(_file("# hello\r\rUSER-AGENT :  *\rdisAllow:/private/ # keep out\r\r"), private),
    ),
    RobotsVariant(
        *("unknown-lines", "lines that no rule knows"),
        *(_file("Clean-param: ref\nUser-agent: *\nNoindex: /\njust text\nDisallow: /private/\n"), private),
    ),
    RobotsVariant("no-group", "a rule before any User-agent", _file("Disallow: /\n")),
    RobotsVariant(*("crawl-delay", "Crawl-delay: 2", _file(f"{_RULES}Crawl-delay: 2\n"), private), crawl_delay_s=2.0),
    RobotsVariant(
        *(
            "crawl-delay-long",
            "Crawl-delay: 1000, more than is honoured",
            _file(f"{_RULES}Crawl-delay: 1000\n"),
            private,
        ),
        crawl_delay_s=1000.0,
    ),
    RobotsVariant("redirect-1", "one redirect, then rules", _hops(1), private),
    RobotsVariant("redirect-5", "five redirects, then rules", _hops(5), private),
    RobotsVariant("redirect-6", "six redirects: one too many", _hops(6), qualified=False),
    RobotsVariant("redirect-loop", "redirects to itself", _loop, qualified=False),
    RobotsVariant("redirect-host", "the rules are on another host", _other_host, private),
    RobotsVariant("redirect-404", "redirects to a 404", _redirect_missing),
    RobotsVariant("sitemap", "rules and a Sitemap line", _sitemap, private),
)
VARIANTS: Final = {variant.name: variant for variant in _VARIANTS}
