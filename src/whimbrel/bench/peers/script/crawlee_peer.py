# mypy: ignore-errors
"""Follow every link from a list of seeds with Crawlee and keep nothing: `python crawlee_peer.py SEEDS CONNECTIONS`."""

import asyncio
import logging
import sys
from pathlib import Path

from crawlee import ConcurrencySettings, service_locator
from crawlee.crawlers import ParselCrawler, ParselCrawlingContext
from crawlee.http_clients import ImpitHttpClient
from crawlee.storage_clients import MemoryStorageClient


async def crawl(seeds: list[str], connections: int) -> None:
    service_locator.set_storage_client(MemoryStorageClient())
    crawler = ParselCrawler(
        http_client=ImpitHttpClient(verify=False),
        concurrency_settings=ConcurrencySettings(max_concurrency=connections, desired_concurrency=connections),
        respect_robots_txt_file=True,
        configure_logging=False,
    )

    @crawler.router.default_handler
    async def follow(context: ParselCrawlingContext) -> None:
        await context.enqueue_links(strategy="all")

    await crawler.run(seeds)


def main() -> None:
    seeds, connections = sys.argv[1:]
    logging.basicConfig(level=logging.ERROR)
    asyncio.run(crawl(Path(seeds).read_text(encoding="ascii").split(), int(connections)))


if __name__ == "__main__":
    main()
