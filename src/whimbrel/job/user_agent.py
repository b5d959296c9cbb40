"""How the crawler names itself, to servers and in robots.txt."""

import re

from whimbrel.job.options import CrawlOptions
from whimbrel.version import __version__


def user_agent(options: CrawlOptions) -> str:
    """The name in full, with the contact where it was given: `whimbrel/0.3 (+https://example.org/bot)`."""
    name = options.user_agent or f"whimbrel/{__version__}"
    return name if not options.contact or "(" in name else f"{name} (+{options.contact})"


def product_token(agent: str) -> str:
    """What rules of robots.txt are looked up for: the first word of the name, without its version."""
    return re.split(r"[/\s]", agent, maxsplit=1)[0].lower()
