"""Look for damage: read every byte of the archive and hold it against what it says of itself."""

import hashlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import msgspec

from whimbrel.archive.cdxj import index_line, index_path
from whimbrel.archive.read import SegmentDamaged, WarcRecord, read_records
from whimbrel.archive.record import digest_text

Progress = Callable[[str, int], None]
"""Called with a segment's name and how many of its bytes have been read."""


class Problem(msgspec.Struct, frozen=True):
    """`offset` is that of the record, or of the first byte that should not be there."""

    file: str
    offset: int
    what: str


def verify(
    directory: Path, lengths: Mapping[str, int], *, surplus: bool = False, progress: Progress | None = None
) -> Iterator[Problem]:
    """Every problem of the listed segments. `surplus` allows what a running crawl has: bytes and segments not listed.

    An index is checked where there is one. That one is missing is no damage: it can be written at any time.
    """
    for name, length in lengths.items():
        path = directory / name
        if not path.is_file():
            yield Problem(name, 0, f"missing; it should be {length} bytes long")
            continue
        found = path.stat().st_size
        if found < length:
            yield Problem(name, found, f"{found} bytes long; it should be {length}")
        elif found > length and not surplus:
            yield Problem(name, length, f"{found} bytes long; it should be {length}")
        yield from _segment(path, name, min(found, length), progress)
    if not surplus:
        yield from _unlisted(directory, lengths)


def _unlisted(directory: Path, lengths: Mapping[str, int]) -> Iterator[Problem]:
    folders = {(directory / name).parent for name in lengths}
    for path in sorted(path for folder in folders if folder.is_dir() for path in folder.glob("*.warc.gz")):
        name = path.relative_to(directory).as_posix()
        if name not in lengths:
            yield Problem(name, 0, "not listed")


def _segment(path: Path, name: str, length: int, progress: Progress | None) -> Iterator[Problem]:
    lines: set[bytes] = set()
    beside = _Beside(name)
    try:
        for record in read_records(path, 0, length):
            if record.offset == 0 and record.kind != "warcinfo":
                yield Problem(name, 0, f"begins with a {record.kind}, not with a warcinfo")
            head = record.http_head()
            for what in _digest_problems(record, head):
                yield Problem(name, record.offset, what)
            record.finish()
            lines.add(index_line(record, head, path.name))
            yield from beside.next(record)
            if progress is not None:
                progress(name, record.offset + record.length)
    except SegmentDamaged as damage:
        yield Problem(name, damage.offset, damage.what)
        return  # nothing behind it can be found, and so no index can be compared
    index = index_path(path)
    if index.exists() and index.read_bytes() != b"".join(sorted(lines - {b""})):
        yield Problem(f"{name}.cdxj", 0, "differs from what the segment says")


class _Beside:
    """A request follows the response or revisit that it belongs to. One whose request is not known has none: an
    imported one."""

    def __init__(self, file: str) -> None:
        self._file = file
        self._answer = ""

    def next(self, record: WarcRecord) -> Iterator[Problem]:
        if record.kind != "request":
            self._answer = record.get("WARC-Record-ID") if record.kind in ("response", "revisit") else ""
            return
        if not self._answer or record.get("WARC-Concurrent-To") != self._answer:
            yield Problem(self._file, record.offset, "a request that does not follow its response")
        self._answer = ""


def _digest_problems(record: WarcRecord, head: bytes) -> Iterator[str]:
    # A revisit's payload digest is that of a payload that is kept elsewhere.
    names = {
        "block": record.get("WARC-Block-Digest"),
        "payload": "" if record.kind == "revisit" else record.get("WARC-Payload-Digest"),
    }
    hashes = {part: hashlib.sha1(usedforsecurity=False) for part, name in names.items() if name.startswith("sha1:")}
    if "block" in hashes:
        hashes["block"].update(head)
    for piece in record.chunks():
        for running in hashes.values():
            running.update(piece)
    for part, name in names.items():
        if not name:
            continue
        if part not in hashes:
            yield f"{part} digest of a kind that is not used here: {name[:40]!r}"
        elif name != digest_text(hashes[part].digest()):
            yield f"{part} digest is not {name}"
