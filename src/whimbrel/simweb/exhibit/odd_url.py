"""Links that are hard to resolve, each with the URL that WHATWG parsing makes of it.

Where a crawler has a choice the rule is: a key never merges what a server may tell apart, credentials are never sent,
and only http and https are followed.
"""

from dataclasses import dataclass
from typing import Final

from whimbrel.simweb.answer import Answer, SimRequest
from whimbrel.simweb.exhibit.api import Exhibit, ExhibitPlace, Finding

FAMILY: Final = "odd-url"
IDN_LABEL: Final = "xn--bcher-kva"
IDN_SPELT: Final = "bücher"
LONG: Final = 10_240


@dataclass(frozen=True, slots=True)
class OddLink:
    """A link as spelt in the page, and the canonical URL it means; empty when it is not to be followed."""

    href: str
    url: str


def odd_links(place: ExhibitPlace) -> tuple[OddLink, ...]:
    host, k = place.host, place.rest
    origin = host.origin
    base = f"{origin}/x/found/{k}"
    shouted = origin.replace(host.scheme, host.scheme.upper(), 1).replace(host.name, host.name.upper())
    authority = origin.partition("://")[2]
    return (
        OddLink(f"/x/found/{k}/%61bc", f"{base}/%61bc"),
        OddLink(f"/x/found/{k}/a b", f"{base}/a%20b"),
        OddLink(f"/x/found/{k}/ünï", f"{base}/%C3%BCn%C3%AF"),
        OddLink(f"/x/found/{k}/q?é=ü", f"{base}/q?%C3%A9=%C3%BC"),
        OddLink(f"/x/found/{k}/%zz%", f"{base}/%zz%"),
        OddLink(f"/x/./y/../found/{k}/dots", f"{base}/dots"),
        OddLink(f"/x/y/%2e%2E/found/{k}/coded-dots", f"{base}/coded-dots"),
        OddLink(f"/../../x/found/{k}/above", f"{base}/above"),
        OddLink(f"\\x\\found\\{k}\\backslash", f"{base}/backslash"),
        OddLink(f"  \t/x/found/{k}/white\n\tspace  ", f"{base}/whitespace"),
        OddLink(f"{origin.replace('://', '://user:secret@')}/x/found/{k}/userinfo", f"{base}/userinfo"),
        OddLink(f"{host.scheme}://{host.name}:000{host.port}/x/found/{k}/port", f"{base}/port"),
        OddLink(f"{shouted}/x/found/{k}/Case", f"{base}/Case"),
        OddLink(f"/x/found/{k}/case", f"{base}/case"),
        OddLink(f"/x/found/{k}/fragment#a", f"{base}/fragment"),
        OddLink(f"/x/found/{k}/fragment#b", f"{base}/fragment"),
        OddLink(f"/x/found/{k}/empty?", f"{base}/empty?"),
        OddLink(f"//{authority}/x/found/{k}/relative-scheme", f"{base}/relative-scheme"),
        OddLink(f"../found/{k}/relative", f"{base}/relative"),
        OddLink("?only=query", f"{place.url()}?only=query"),
        OddLink(f"/x/found/{k}/entity?a=1&amp;b=2", f"{base}/entity?a=1&b=2"),
        OddLink(f"/x//found/{k}", f"{origin}/x//found/{k}"),
        OddLink(f"http://{IDN_SPELT}{_exhibit_tail(place)}/", f"http://{IDN_LABEL}{_exhibit_tail(place)}/"),
        OddLink(f"/x/found/{k}/{'l' * LONG}", f"{base}/{'l' * LONG}"),
        *(
            OddLink(f"/x/found/{k}/{path}", f"{base}/{path}")
            for path in ("semi;colon", "at@sign", "plus+sign", "tilde~")
        ),
        *(
            OddLink(href, "")
            for href in (
                "javascript:void(0)",
                "mailto:a@b.test",
                "data:text/html,x",
                "tel:123",
                "http://",
                "http://[::1",
            )
        ),
        OddLink(f"ftp://{host.name}/file", ""),
        OddLink("#top", place.url()),
        OddLink("", place.url()),
    )


def _exhibit_tail(place: ExhibitPlace) -> str:
    spec = place.hosts.spec
    return f".exhibit.{spec.suffix}" + ("" if spec.http_port == 80 else f":{spec.http_port}")


def _respond(place: ExhibitPlace, request: SimRequest) -> Answer:
    if place.query:
        return place.page()
    lines = "".join(f'<li><a href="{link.href}">{at}</a></li>\n' for at, link in enumerate(odd_links(place)))
    return place.page(f"<ul>{lines}</ul>")


def _judge(place: ExhibitPlace) -> Finding:
    if place.query:
        return Finding("stored", "new")
    return Finding("stored", "new", tuple(link.url for link in odd_links(place) if link.url))


EXHIBITS: Final = (Exhibit("odd-urls", FAMILY, "every odd way to write a link, on one page", _respond, _judge),)
