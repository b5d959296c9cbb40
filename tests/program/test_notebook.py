"""Crawls in a notebook: a real kernel, with its own event loop, runs the cells."""

import queue
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from jupyter_client.blocking.client import BlockingKernelClient
from jupyter_client.manager import KernelManager, start_new_kernel

from tests.job.site import page, served
from whimbrel.commit.committed import NotACrawl, read_committed

PAGES = {
    "/robots.txt": (404, {}, ""),
    "/": page(*(f"/{number}" for number in range(40)), title="home"),
    **{f"/{number}": page("/", title=f"page {number}") for number in range(40)},
}
CRAWL = """
import whimbrel

class Title(whimbrel.Item, key="url"):
    url: str
    title: str

crawl = whimbrel.Crawl({site!r}, delay={delay}, allow_network=["127.0.0.0/8"])

@crawl.parse(mime="text/html")
def titles(page):
    yield Title(page.url, page.css("title").text)
"""


@pytest.fixture(scope="module")
def site() -> Iterator[str]:
    with served(PAGES) as port:
        yield f"http://127.0.0.1:{port}/"


@pytest.fixture
def kernel(tmp_path: Path) -> Iterator[tuple[KernelManager, BlockingKernelClient]]:
    manager, client = start_new_kernel(cwd=str(tmp_path))
    yield manager, client
    client.stop_channels()
    manager.shutdown_kernel(now=True)


def told(client: BlockingKernelClient, message: str) -> str:
    """What a cell printed, once it has ended."""
    said: list[str] = []
    while True:
        try:
            found = client.get_iopub_msg(timeout=50)
        except queue.Empty:
            raise AssertionError(f"the cell did not end; it said {said}") from None
        if found["parent_header"].get("msg_id") != message:
            continue
        content = found["content"]
        if found["msg_type"] == "stream":
            said.append(content["text"])
        elif found["msg_type"] == "error":
            raise AssertionError("\n".join(content["traceback"]))
        elif found["msg_type"] == "execute_result":
            said.append(content["data"]["text/plain"])
        elif found["msg_type"] == "status" and content["execution_state"] == "idle":
            return "".join(said)


def test_cells_crawl_listen_and_ask(site: str, kernel: tuple[KernelManager, BlockingKernelClient]) -> None:
    client = kernel[1]
    told(client, client.execute(CRAWL.format(site=site, delay=0.0)))
    assert "<done: 41 visits" in told(client, client.execute("found = crawl.run('out')\nfound"))
    assert told(client, client.execute("list(found.sql('select count(*) from title'))")) == "[(41,)]"
    listening = "async for event in crawl.events('again'):\n    last = event\nprint(last.state, last.progress.visited)"
    assert told(client, client.execute(listening)) == "done 41\n"


def test_the_stop_button_stops_a_crawl_in_good_order(
    site: str, kernel: tuple[KernelManager, BlockingKernelClient], tmp_path: Path
) -> None:
    manager, client = kernel
    told(client, client.execute(CRAWL.format(site=site, delay=0.5)))
    running = client.execute("found = crawl.run('out')\nprint(found.state, found.progress.visited)")
    end = time.monotonic() + 30
    while visited(tmp_path / "out") < 2:
        assert time.monotonic() < end, "the crawl has not begun"
    manager.interrupt_kernel()
    state, count = told(client, running).split()
    assert state == "stopped"
    assert 2 <= int(count) < 41
    assert told(client, client.execute("1 + 1")) == "2"
    told(client, client.execute(CRAWL.format(site=site, delay=0.0)))
    assert told(client, client.execute("crawl.run('out', resume=True).state")) == "'done'"


def visited(directory: Path) -> int:
    try:
        return read_committed(directory).counters.visits
    except NotACrawl:
        return 0
