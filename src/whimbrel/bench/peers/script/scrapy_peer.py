# mypy: ignore-errors
"""Scrapy's part in the comparison: `python scrapy_peer.py SEEDS CONNECTIONS [ITEMS]`.

Without a file for items it follows every link and keeps nothing. With one it is the spider of Scrapy's tutorial, quotes
and their authors, and writes what it finds as JSON lines.
"""

import sys
from collections.abc import AsyncIterator
from pathlib import Path

from scrapy import Request, Spider
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


class QuotesSpider(Spider):
    name = "quotes"

    def parse(self, response):
        for quote in response.css("div.quote"):
            yield {
                "text": quote.css(".text::text").get(),
                "author": quote.css(".author::text").get(),
                "tags": quote.css(".tag::text").getall(),
            }
        yield from response.follow_all(response.css(".author + a"), self.parse_author)
        yield from response.follow_all(response.css("li.next a"), self.parse)

    def parse_author(self, response):
        yield {
            "name": response.css("h3.author-title::text").get(),
            "born": response.css(".author-born-date::text").get(),
            "bio": response.css(".author-description::text").get(),
        }


def main() -> None:
    seeds, connections, *items = sys.argv[1:]
    spider = QuotesSpider if items else PeerSpider
    spider.start_urls = Path(seeds).read_text(encoding="ascii").split()
    process = CrawlerProcess(
        {
            "ROBOTSTXT_OBEY": True,
            "CONCURRENT_REQUESTS": int(connections),
            "CONCURRENT_REQUESTS_PER_DOMAIN": int(connections),
            "DOWNLOAD_DELAY": 0,
            "COOKIES_ENABLED": False,
            "TELNETCONSOLE_ENABLED": False,
            "LOG_LEVEL": "ERROR",
            "FEEDS": {file: {"format": "jsonlines"} for file in items},
        }
    )
    process.crawl(spider)
    process.start()


if __name__ == "__main__":
    main()
