"""Seeds as people write them, and that a crawl has one."""

import re
from typing import Final

from whimbrel.job.options import CrawlOptions, OptionError
from whimbrel.url import Url, parse

_SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:(?!\d)")


def seed_url(text: str) -> Url:
    """A seed as a person writes it; without a scheme, https."""
    url = parse(text if _SCHEME.match(text) else f"https://{text}")
    if url is None:
        raise OptionError(f"the seed {text!r} is not an http or https URL")
    return url


def seeds(options: CrawlOptions) -> list[Url]:
    return [seed_url(text) for text in options.seeds]


def require_seed(options: CrawlOptions) -> str:
    """The first seed as it was written. Raises OptionError if there is none."""
    if not options.seeds:
        raise OptionError("there is no seed; name a URL, or a file of URLs with --seeds")
    return options.seeds[0]
