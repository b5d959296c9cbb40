"""The credentials of a job: headers, `user:password@` of seeds, and the origins that they are for."""

from base64 import b64encode
from typing import Any, Final

from whimbrel.fetch.credential import is_credential, is_for_the_proxy
from whimbrel.job.options import CrawlOptions, OptionError
from whimbrel.job.seed import absolute, seeds
from whimbrel.url import parse
from whimbrel.url.userinfo import redacted_url, userinfo

_SHOWN: Final = 3
"""Of many origins."""


def headers(options: CrawlOptions) -> dict[str, str]:
    """Further request headers by name. Raises OptionError, without a word of the header: it may be a secret."""
    found: dict[str, str] = {}
    for number, line in enumerate(options.header, 1):
        name, colon, value = line.partition(":")
        if not colon or not name.strip():
            raise OptionError(f"header number {number} has no name, or no colon; write it as 'Name: value'")
        if is_for_the_proxy(name.strip()) and not options.proxy:
            raise OptionError(f"header {name.strip()} is for a proxy, and there is none; name it with --proxy")
        found[name.strip()] = value.strip()
    return found


def credential_origins(options: CrawlOptions) -> tuple[str, ...]:
    """The origins of the seeds, if there is a header that must not go anywhere else."""
    return tuple(dict.fromkeys(url.site for url in seeds(options))) if _secret_names(options) else ()


def credential_note(options: CrawlOptions) -> str:
    """To whom secret headers go, for people: a site that redirects elsewhere would show what everybody sees, and nobody
    would know why. Empty if there are none."""
    names = _secret_names(options)
    origins = _transport(options).get("credential_origins", credential_origins(options))
    if not names:
        return ""
    more = f" and {len(origins) - _SHOWN:,} more" if len(origins) > _SHOWN else ""
    shown = ", ".join(map(redacted_url, map(str, origins[:_SHOWN]))) or "nobody"
    return f"secret headers ({', '.join(names)}) are sent to {shown}{more} and to no other origin"


def _secret_names(options: CrawlOptions) -> list[str]:
    named = _transport(options).get("headers", {})
    given = (*headers(options), *(named if isinstance(named, dict) else ()))
    return [name for name in given if is_credential(name) and not is_for_the_proxy(name)]


def _transport(options: CrawlOptions) -> dict[str, Any]:
    return options.set.get("transport", {})


def authorizations(options: CrawlOptions) -> dict[str, str]:
    """For each origin of a seed with `user:password@` the Authorization header that this stands for (RFC 7617)."""
    found: dict[str, str] = {}
    for text in options.seeds:
        login, url = userinfo(absolute(text)), parse(absolute(text))
        if login is None or url is None:
            continue
        user, password = login
        if b":" in user:
            raise OptionError(f"the user name for {url.site} has a colon in it: Basic authentication cannot say that")
        value = f"Basic {b64encode(user + b':' + password).decode()}"
        if found.setdefault(url.site, value) != value:
            raise OptionError(
                f"seeds name two users or passwords for {url.site}; a crawl can use one: keep one of them"
            )
    return found
