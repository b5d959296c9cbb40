"""All targets, by name."""

from typing import Final

from tests.fuzz.api import Target
from tests.fuzz.target import (
    coding,
    committed,
    control,
    cookie,
    dns,
    html,
    http,
    retry_after,
    robots,
    segment,
    slot,
    tail,
    warc,
    xml,
)

_ALL: Final = (
    *(html.TARGET, robots.TARGET, xml.SITEMAP, xml.FEED, retry_after.TARGET, coding.TARGET),
    *(http.TARGET, cookie.FILES, cookie.ANSWERS, dns.TARGET),
    *(warc.RECORDS, warc.IMPORT),
    *(control.TARGET, committed.TARGET, tail.TARGET, segment.TARGET, slot.TARGET),
)
TARGETS: Final[dict[str, Target]] = {target.name: target for target in _ALL}
