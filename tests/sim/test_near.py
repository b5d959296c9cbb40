"""Near-duplicates of a simulated web, which knows them: precision and recall of `near_duplicates`."""

from collections import Counter
from pathlib import Path

import whimbrel
from tests.sim.crawl import crawled
from tests.sim.web import serve
from whimbrel.bench.exact import NO_HOP_LIMIT
from whimbrel.simweb.spec import WebSpec
from whimbrel.simweb.truth import Truth

SHARES = {
    "near": 0.35,
    "copy": 0.05,
    "alias": 0.05,
    "missing": 0.02,
    "calendar": 0.002,
    "listing": 0.002,
    "html-broken": 0.02,
    "redirect-301": 0.02,
    "coding-gzip": 0.02,
    "odd-urls": 0.02,
}


def test_near_duplicates_are_found_and_others_are_not(tmp_path: Path) -> None:
    """Ordinary pages of one topic share whole paragraphs, and pages of a trap look alike: none of them are meant."""
    spec = WebSpec(hosts=30, pages=60, page_bytes=8_000, mirrors=0.1, soft404=0.2, exhibits=SHARES)
    with serve(spec, tmp_path / "web") as served:
        crawled(served, tmp_path / "crawl")
        rows = list(Truth(served.web, served.running.seeds, NO_HOP_LIMIT).rows())
    kind = {row.url: (row.near, "" if row.near else row.payload or row.url) for row in rows}
    crawl = whimbrel.open(tmp_path / "crawl")
    hashed = {row["url"] for row in crawl.sql("select url from pages where simhash is not null").dicts()}
    wanted = sum(count - 1 for count in Counter(kind[url] for url in hashed).values())
    found = crawl.sql("select * from near_duplicates").dicts()
    right = sum(kind[row["url"]] == kind[row["original"]] for row in found)
    near = Counter(row.near for row in rows if row.near)
    spread = Counter(row["distance"] for row in found)
    said = f"{spread}; {len(hashed)} pages, {wanted} near-duplicates, {len(found)} found, {right} of them right"
    assert set(spread) == {0, 1, 2, 3}
    assert near.total() - len(near) > 250
    assert right / len(found) >= 0.95, said
    assert right / wanted >= 0.95, said
