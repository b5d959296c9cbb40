"""Seeds as people write them, and that a crawl has one."""

import re
from collections.abc import Iterable
from typing import Final

from whimbrel.fetch.network import own_networks
from whimbrel.job.options import CrawlOptions, OptionError
from whimbrel.url import Url, parse
from whimbrel.url.userinfo import redacted_url

_SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:(?!\d)")


def typed_url(text: str) -> Url | None:
    """A URL as a person writes it; without a scheme, https. None if it is not an http or https URL: `mailto:a@b.test`
    names no page of `b.test`."""
    return parse(absolute(text))


def absolute(text: str) -> str:
    """What a person writes, with the scheme that is meant."""
    return text if _SCHEME.match(text) else f"https://{text}"


def seed_url(text: str) -> Url:
    """A seed as a person writes it; without a scheme, https."""
    url = typed_url(text)
    if url is None:
        advice = "; write https:// before a user and a password" if "@" in text else ""
        raise OptionError(f"the seed {redacted_url(text)!r} is not an http or https URL{advice}")
    return url


def own_hosts(typed: Iterable[str]) -> dict[str, list[str]]:
    """Seeds that a person has typed and whose host is private by itself, each with what may be crawled for it: its host
    and port, of the default ports both. Somebody else may have written a seed that comes from a file or a database."""
    found: dict[str, list[str]] = {}
    for url in map(seed_url, typed):
        if own_networks(url.host):
            ports = (80, 443) if url.port in (80, 443) else (url.port,)
            found[f"{url.host}:{url.port}"] = [f"{url.host}:{port}" for port in ports]
    return found


def own_host_note(host: str) -> str:
    return f"{host} is private; it is crawled because you named it, and no other private address is"


def seeds(options: CrawlOptions) -> list[Url]:
    return [seed_url(text) for text in options.seeds]


def require_seed(options: CrawlOptions) -> str:
    """The first seed as it was written. Raises OptionError if there is none."""
    if not options.seeds:
        raise OptionError("there is no seed; name a URL, or a file of URLs with --seeds")
    return options.seeds[0]
