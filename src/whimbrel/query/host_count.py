"""How many hosts a crawl knows, where its counters do not say: an import has no queues of hosts."""

from pathlib import Path

from whimbrel.commit.committed import Committed
from whimbrel.error import Damaged
from whimbrel.query.crawl_data import CrawlData
from whimbrel.query.sql import QueryFailed


def known_hosts(directory: Path, committed: Committed) -> int:
    """Sites with a capture or a visit in the tables; what the commit counted where it did, or the tables are
    damaged, of which others tell."""
    counters = committed.counters
    if counters.hosts or not counters.visits:
        return counters.hosts
    sql = "select count(*) as n from (select site from captures union select site from fetches where attempt > 0)"
    try:
        return int(CrawlData([directory]).sql(sql).dicts()[0]["n"])
    except (Damaged, QueryFailed):
        return 0
