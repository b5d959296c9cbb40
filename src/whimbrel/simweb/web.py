"""A specification made callable: find a host, answer a request, judge a URL."""

from typing import Final
from urllib.parse import unquote_to_bytes

from whimbrel.simweb import page as pages
from whimbrel.simweb import sitemap
from whimbrel.simweb.answer import Answer, Reply, SimRequest, html
from whimbrel.simweb.exhibit import HOST_LABELS, PAGE_EXHIBITS
from whimbrel.simweb.exhibit.api import PREFIX, Exhibit, ExhibitPlace
from whimbrel.simweb.exhibit.duplicate import not_found
from whimbrel.simweb.exhibit.robots import HOP_PREFIX, VARIANTS
from whimbrel.simweb.host import SimHost, SimHosts
from whimbrel.simweb.html import PageWriter
from whimbrel.simweb.spec import WebSpec

_STATIC_TYPES: Final = {"css": "text/css", "js": "text/javascript", "png": "image/png"}


class Web:
    """The whole simulated web. Holds no state but small caches; every method is a function of its arguments."""

    def __init__(self, spec: WebSpec) -> None:
        self.spec = spec
        self.hosts = SimHosts(spec, HOST_LABELS)
        self.pages = pages.Pages(spec, self.hosts)
        self.writer = PageWriter(spec, self.hosts, self.pages)

    def seed_urls(self, count: int = 1) -> list[str]:
        """Roots of the first hosts."""
        return [self.hosts.origin(at) + "/" for at in range(min(count, self.spec.hosts))]

    def exhibit(self, host: SimHost, target: str) -> tuple[Exhibit, ExhibitPlace] | None:
        """The exhibit at a request target, and its place; None when none is there."""
        path, _, query = target.partition("?")
        if not path.startswith(PREFIX):
            return None
        name, slash, rest = path[len(PREFIX) :].partition("/")
        exhibit = PAGE_EXHIBITS.get(name)
        if exhibit is None or not slash:
            return None
        return exhibit, ExhibitPlace(self.hosts, host, name, rest, query)

    def page_number(self, host: SimHost, target: str) -> int | None:
        """The ordinary page at a request target; None when none is there."""
        number = pages.number(target)
        return number if number is not None and number < host.pages else None

    def respond(self, host: SimHost, request: SimRequest, now_s: float) -> Answer:
        """What this host does with a request at that virtual time."""
        return self.find(host, request, now_s)[0]

    def find(self, host: SimHost, request: SimRequest, now_s: float) -> tuple[Answer, str]:
        """The answer to a request, and what was found: `page`, `robots`, an exhibit's name, or `other`."""
        target = request.target
        number = self.page_number(host, target)
        if number is not None:
            return _conditional(self.writer.reply(host, number, now_s), request), "page"
        found = self.exhibit(host, target)
        if found is not None:
            exhibit, place = found
            return exhibit.respond(place, request), exhibit.name
        if target == "/robots.txt" or target.startswith(HOP_PREFIX):
            return VARIANTS[host.robots].respond(ExhibitPlace(self.hosts, host, "robots", "txt"), request), "robots"
        answer = _static(target) or sitemap.respond(host, target)
        return answer or not_found(ExhibitPlace(self.hosts, host, "missing")), "other"


def _conditional(reply: Reply, request: SimRequest) -> Reply:
    """304 where the client has this version (RFC 9110 §13.2.2: If-None-Match goes before If-Modified-Since)."""
    tags, since = request.headers.get("if-none-match"), request.headers.get("if-modified-since")
    if tags is None and since is None:
        return reply
    own = dict(reply.headers)
    if tags is not None:
        same = any(tag.strip().removeprefix("W/") == own["ETag"] for tag in tags.split(","))
    else:
        same = since == own["Last-Modified"]
    return Reply(304, reply.headers) if same else reply


def _static(target: str) -> Reply | None:
    """Page requisites: small, different for each number."""
    name, dot, ending = target.removeprefix("/static/").rpartition(".")
    if not (target.startswith("/static/") and dot and name.isascii() and name.isdigit() and ending in _STATIC_TYPES):
        return None
    body = f"/* {ending} number {name} */\n".encode() * 40
    return Reply(200, (("Content-Type", _STATIC_TYPES[ending]), ("Cache-Control", "max-age=86400")), body)


def host_of(authority: str) -> str:
    """The name in a Host header: without a port, in lower case, percent-decoded."""
    name = authority.rpartition(":")[0] if ":" in authority and not authority.endswith("]") else authority
    if "%" in name:
        name = unquote_to_bytes(name).decode("ascii", "replace")
    return name.lower().removesuffix(".")


def unknown_host() -> Reply:
    return html("<h1>Misdirected request</h1><p>This simulated web has no such host.</p>", 421)
