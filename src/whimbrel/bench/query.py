"""How long questions take on the tables of a large crawl, which is made up: a million pages, fifty million links."""

import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import msgspec

from whimbrel.commit.committed import Committed, publish
from whimbrel.durable_file import Disk

QUESTIONS: Final = {
    "group-by": "SELECT host, count(*), sum(length) FROM pages GROUP BY host ORDER BY 2 DESC LIMIT 20",
    "in-degree": "SELECT target_key, count(*) AS links FROM links GROUP BY target_key ORDER BY links DESC LIMIT 20",
    "join": """SELECT page.url, page.title, counted.links FROM (
                   SELECT target_key, count(*) AS links FROM links GROUP BY target_key ORDER BY links DESC LIMIT 1000
               ) counted JOIN pages page ON page.id = counted.target_key ORDER BY links DESC LIMIT 20""",
    "near-duplicates": "SELECT distance, count(*) FROM near_duplicates GROUP BY distance ORDER BY distance",
}
_FILE_PAGES: Final = 100_000
_HOSTS: Final = 20_000
MOST_S: Final = {"near-duplicates": 10.0}
_MOST_S: Final = 4.0
MOST_BYTES: Final = 2_000_000_000


class QueryCost(msgspec.Struct, frozen=True):
    name: str
    seconds: float
    cpu_s: float
    peak_bytes: int
    rows: int

    @property
    def met(self) -> bool:
        return self.seconds <= MOST_S.get(self.name, _MOST_S) and self.peak_bytes <= MOST_BYTES


def make(directory: Path, pages: int, links_per_page: int, say: Callable[[str], None]) -> None:
    """Tables as a crawl leaves them, in files as it writes them. Links go to few pages often and to many seldom."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute
    import pyarrow.parquet as pq

    from whimbrel.facts.schema import dictionary_columns, schema

    facts = directory / "facts"
    facts.mkdir(parents=True)
    random = np.random.default_rng(1)
    ids = random.integers(0, 1 << 63, pages, dtype=np.uint64)
    listed = []
    for number, begin in enumerate(range(0, pages, _FILE_PAGES), 1):
        count = min(_FILE_PAGES, pages - begin)
        for table, made in (
            ("captures", _captures(np, pa, ids, begin, count, schema("captures"))),
            ("links", _links(np, pa, random, ids, range(begin, begin + count), links_per_page, schema("links"))),
        ):
            path = facts / f"{table}-{number}.parquet"
            pq.write_table(
                made, path, compression="zstd", compression_level=1, use_dictionary=dictionary_columns(table),
                row_group_size=100_000,
            )  # fmt: skip
            listed.append(f"facts/{path.name}")
        say(f"{begin + count:,} pages, {(begin + count) * links_per_page:,} links")
    publish(directory, Committed(number=1, at_s=time.time(), parquet=listed, state="done"), Disk())


def _captures(np: Any, pa: Any, ids: Any, begin: int, count: int, schema: Any) -> Any:
    numbers = np.arange(begin, begin + count)
    hosts = [f"host-{number % _HOSTS}.example" for number in numbers]
    made = {
        "capture_id": ids[begin : begin + count] ^ np.uint64(1),
        "id": ids[begin : begin + count],
        "url": [f"https://{host}/section/{number}.html" for host, number in zip(hosts, numbers, strict=True)],
        "host": hosts,
        "outcome": ["duplicate" if number % 20 == 0 else "stored" for number in numbers],
        "status": np.full(count, 200, np.int16),
        "mime": ["text/html"] * count,
        "length": numbers % 90_000,
        "title": [f"Page number {number}" for number in numbers],
        "fetched_at": (numbers * 1_000).astype("datetime64[us]"),
        "simhash": _hashes(np, numbers),
        "text": ["some words of a page " * 40] * count,
    }
    return pa.table(
        [
            pa.array(made[field.name], field.type) if field.name in made else pa.nulls(count, field.type)
            for field in schema
        ],
        schema=schema,
    )


def _hashes(np: Any, numbers: Any) -> Any:
    """Every tenth page is nearly the one before it."""
    near = numbers % 10 == 9
    mixed = (numbers - near).astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed ^= mixed >> np.uint64(32)
    return mixed ^ (near.astype(np.uint64) << (numbers % 64).astype(np.uint64))


def _links(np: Any, pa: Any, random: Any, ids: Any, pages: range, each: int, schema: Any) -> Any:
    rows = len(pages) * each
    targets = (len(ids) * random.random(rows) ** 3).astype(np.int64)
    sources = np.repeat(np.arange(pages.start, pages.stop), each)
    text = pa.compute.binary_join_element_wise(
        "https://host.example/section/", pa.array(targets).cast(pa.string()), ".html", ""
    )
    made = {
        "capture_id": pa.array(ids[sources] ^ np.uint64(1)),
        "source_key": pa.array(ids[sources]),
        "target_key": pa.array(ids[targets]),
        "source": pa.compute.binary_join_element_wise(
            "https://host.example/section/", pa.array(sources).cast(pa.string()), ".html", ""
        ),
        "target": text,
        "anchor": pa.array(["an anchor"] * 1_000).take(pa.array(np.arange(rows) % 1_000)),
        "rel": pa.array([""]).take(pa.array(np.zeros(rows, np.int64))),
        "kind": pa.array(["a"]).take(pa.array(np.zeros(rows, np.int64))),
    }
    return pa.table([made[field.name] for field in schema], schema=schema)


def ask(directory: Path) -> list[QueryCost]:
    """Each question in a process of its own, as the command asks it."""
    found = []
    for name in QUESTIONS:
        command = [sys.executable, "-m", "whimbrel.bench.query", str(directory), name]
        done = subprocess.run(command, capture_output=True, text=True, check=True)  # noqa: S603
        found.append(msgspec.convert(json.loads(done.stdout), QueryCost))
    return found


def _answer(directory: Path, name: str) -> QueryCost:
    from whimbrel.query.crawl_data import CrawlData

    opened = CrawlData([directory])
    began_s, began_cpu_s = time.monotonic(), time.process_time()
    rows = len(opened.sql(QUESTIONS[name]))
    seconds, cpu_s = time.monotonic() - began_s, time.process_time() - began_cpu_s
    return QueryCost(name, seconds, cpu_s, _peak_bytes(), rows)


def _peak_bytes() -> int:
    """What `getrusage` says would count the process that started this one."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))


if __name__ == "__main__":
    sys.stdout.buffer.write(msgspec.json.encode(_answer(Path(sys.argv[1]), sys.argv[2])))
