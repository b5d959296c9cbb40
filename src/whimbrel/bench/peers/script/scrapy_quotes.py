# mypy: ignore-errors
"""The spider of Scrapy's tutorial, quotes and their authors: `python scrapy_quotes.py SEEDS CONNECTIONS ITEMS`."""

import sys
from pathlib import Path

from scrapy import Spider
from scrapy.crawler import CrawlerProcess


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
    seeds, connections, items = sys.argv[1:]
    QuotesSpider.start_urls = Path(seeds).read_text(encoding="ascii").split()
    process = CrawlerProcess(
        {
            "ROBOTSTXT_OBEY": True,
            "CONCURRENT_REQUESTS": int(connections),
            "CONCURRENT_REQUESTS_PER_DOMAIN": int(connections),
            "DOWNLOAD_DELAY": 0,
            "COOKIES_ENABLED": False,
            "TELNETCONSOLE_ENABLED": False,
            "LOG_LEVEL": "ERROR",
            "FEEDS": {items: {"format": "jsonlines"}},
        }
    )
    process.crawl(QuotesSpider)
    process.start()


if __name__ == "__main__":
    main()
