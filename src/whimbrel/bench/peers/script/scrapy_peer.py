# mypy: ignore-errors
"""Follow every link from a list of seeds with Scrapy and keep nothing: `python scrapy_peer.py SEEDS CONNECTIONS`."""

import sys
from collections.abc import AsyncIterator
from pathlib import Path

from scrapy import Request
from scrapy.crawler import CrawlerProcess
from scrapy.linkextractors import LinkExtractor
from scrapy.spiders import CrawlSpider, Rule


class PeerSpider(CrawlSpider):
    name = "peer"
    rules = (Rule(LinkExtractor(), follow=True),)

    async def start(self) -> AsyncIterator[Request]:
        # Scrapy's own lets seeds pass the filter of duplicates, and fetches each again where a page links to it.
        for url in self.start_urls:
            yield Request(url)


def main() -> None:
    seeds, connections = sys.argv[1:]
    PeerSpider.start_urls = Path(seeds).read_text(encoding="ascii").split()
    process = CrawlerProcess(
        {
            "ROBOTSTXT_OBEY": True,
            "CONCURRENT_REQUESTS": int(connections),
            "CONCURRENT_REQUESTS_PER_DOMAIN": int(connections),
            "DOWNLOAD_DELAY": 0,
            "COOKIES_ENABLED": False,
            "TELNETCONSOLE_ENABLED": False,
            "LOG_LEVEL": "ERROR",
        }
    )
    process.crawl(PeerSpider)
    process.start()


if __name__ == "__main__":
    main()
