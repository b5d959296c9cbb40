"""States of format 1: one that version 0.1 wrote, and large ones made for the purpose."""

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
from rocksdict import AccessType, Options, Rdict, WriteBatch

from whimbrel.commit.committed import Committed
from whimbrel.frontier.entry import QueueEntry
from whimbrel.url import query_group, restore
from whimbrel.url.key import Keys, slot
from whimbrel.visit import HostName

STORED = Path(__file__).parents[1] / "data" / "crawl-format-1.tar.gz"
"""Half a crawl of a simulated web (`web.json`), killed after the state was written and before that was published:
queues, hosts that are parked, URLs to be tried again, robots.txt, duplicates, URLs with queries, tails and Parquet."""
SECRET = b"sixteen bytes 01"
SPACES = ("seen", "content", "queue", "due", "retry", "hosts", "robots", "counts", "meta")
Pairs = dict[str, dict[bytes, bytes]]


def unpack(into: Path) -> Path:
    into.mkdir(parents=True, exist_ok=True)
    subprocess.run(["tar", "-xf", str(STORED), "-C", str(into)], check=True)  # Python knows `filter` from 3.11.4 on.
    return into / "crawl-format-1"


def all_pairs(state: Path) -> Pairs:
    """Every pair of every space, without the help of the code under test."""
    names = [name for name in Rdict.list_cf(str(state)) if name != "default"]
    options = {name: Options(raw_mode=True) for name in (*names, "default")}
    database = Rdict(
        str(state), Options(raw_mode=True), column_families=options, access_type=AccessType.read_only(False)
    )
    found: Any = {name: dict(database.get_column_family(name).items()) for name in names}
    database.close()
    return cast("Pairs", found)


class _Record(msgspec.Struct, array_like=True):
    """A host of format 1, as far as the fields go that matter here."""

    name: dict[str, Any]
    queued: int
    waiting: int
    head: bytes
    due: bytes


def build(directory: Path, *, hosts: int, per_host: int, visited: int) -> Path:
    """A crawl of format 1 with this many URLs queued at each host, one of them to be tried again, and visited."""
    keys = Keys(SECRET)
    database = _created(directory)
    batch = WriteBatch(raw_mode=True)
    handles = {name: database.get_column_family_handle(name) for name in SPACES}

    def put(space: str, key: bytes, value: bytes) -> None:
        batch.put(key, value, handles[space])

    number = 0
    for host in range(hosts):
        number = _host(put, keys, f"h{host}.example", per_host, number)
    texts = [f"http://h{at % hosts}.example/old/{at}?q={at}" for at in range(visited)]
    for text in texts:
        put("seen", keys.url(text), b"")
    (directory / "facts").mkdir()
    outcomes = ["dropped" if at % 10 == 0 else "stored" for at in range(visited)]
    pq.write_table(pa.table({"url": texts, "outcome": outcomes}), directory / "facts" / "fetches-1.parquet")
    for at, text in enumerate(texts):
        group = query_group(restore(text)) if at % 10 else None
        if group is not None:
            put("counts", keys.url(group), (at + 1).to_bytes(4, "little"))
    put("meta", b"format", b"1")
    put("meta", b"secret", SECRET)
    put("meta", b"frontier", msgspec.msgpack.encode([number, hosts * per_host, 0, hosts, None, "breadth", 0, []]))
    commit = Committed(number=7, parquet=["facts/fetches-1.parquet"])
    put("meta", b"commit", msgspec.msgpack.encode(commit))
    database.write(batch)
    database.close()
    return directory


def empty(directory: Path) -> Path:
    """Killed before its first commit."""
    _created(directory).close()
    return directory


def _created(directory: Path) -> Rdict:
    directory.mkdir(parents=True)
    options = Options(raw_mode=True)
    options.create_if_missing(True)
    options.create_missing_column_families(True)
    families = {name: Options(raw_mode=True) for name in SPACES}
    return Rdict(str(directory / "state"), options, column_families=families)


def _host(put: Callable[[str, bytes, bytes], None], keys: Keys, host: str, per_host: int, number: int) -> int:
    name = HostName(f"http://{host}:80", "http", host, 80, host)
    id_ = slot(host).to_bytes(2, "big") + keys.host(name.site)
    due = b"\1" + (1000).to_bytes(8, "big") + id_
    for at in range(per_host):
        number += 1
        entry = QueueEntry(f"http://{host}/new/{at}", 1, 0, 1, f"http://{host}/")
        key = id_ + b"\1" + (1).to_bytes(2, "big") + number.to_bytes(6, "big")
        put("seen", keys.url(entry.url), b"")
        if at:
            put("queue", key, msgspec.msgpack.encode(entry))
        else:
            put("retry", (5_000).to_bytes(8, "big") + key, msgspec.msgpack.encode(entry))
    fields = {key: value for key, value in msgspec.structs.asdict(name).items() if key != "slot"}
    put("hosts", id_, msgspec.msgpack.encode(_Record(fields, per_host, 1, id_, due)))
    put("due", due, b"")
    return number
