"""A web read from WARC files: what was stored is served again, status, headers and bytes.

Opening a *snapshot* reads its files once and keeps, for each URL, the URL and the place of its last record: 100 to 150
bytes and the length of the URL, at most 64 KiB (no server takes a longer one). A `revisit` costs 60 bytes more; it is
kept if its body is in the files. While the files are read, up to 500 bytes per record are needed on top. Nothing else
stays in memory: a request reads its record, one at a time, on the event loop, through a few open files.

A URL is known by scheme, host and request target. The port is left out: the snapshot is served on others. So are URLs
that are not http or https, and hosts that a certificate or DNS cannot name (IPv6 addresses, non-ASCII names).

A body is served in the content coding in which it was stored; chunks are put together. What is about one connection is
left out of the headers (RFC 9110 §7.6.1), and so is what the server writes itself: Content-Length, Date and Server.
"""

import re
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from hashlib import blake2b
from io import BytesIO
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Final, NamedTuple, Self
from urllib.parse import quote

from warcio.archiveiterator import WARCIterator
from warcio.bufferedreaders import ChunkedDataReader
from warcio.exceptions import ArchiveLoadFailed

from whimbrel.simweb.answer import Headers, Reply, SimRequest, html, text
from whimbrel.simweb.host import SimHost, SimHosts
from whimbrel.simweb.server.service import ServedAnswer
from whimbrel.simweb.spec import SpecError, WebSpec
from whimbrel.simweb.web import host_of, unknown_host

_MAX_OPEN: Final = 8
_MAX_URL: Final = 64 * 1024
_OFFSET_BITS: Final = 48
_URL: Final = re.compile(r"(https?)://(?:[^/?#@]*@)?([^/?#]*)([^#]*)", re.IGNORECASE)
_HOST: Final = re.compile(r"(?=.{1,253}$)[a-z0-9_-]{1,63}(\.[a-z0-9_-]{1,63})*")
_STATUS_LINE: Final = re.compile(rb"HTTP/\S+[ \t]+([2-9]\d\d)\b")
_TOKEN: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_END_OF_HEAD: Final = re.compile(rb"\r?\n\r?\n|\r?\n\Z|\Z")
_LEFT_OUT: Final = frozenset(
    (
        *("connection", "keep-alive", "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade"),
        *("content-length", "date", "server"),
    )
)
_PRINTABLE: Final = "".join(map(chr, range(33, 127)))


class SnapshotError(SpecError):
    """A file that cannot be served; the message names it and says why."""


class StoredReply(NamedTuple):
    """A response as it was stored, without what the server writes itself."""

    status: int
    headers: Headers
    body: bytes


class WarcWeb:
    """A site (`server.service.Site`) that answers with what is stored. `close` gives its open files back."""

    def __init__(self, paths: Iterable[Path | str]) -> None:
        self._paths = [Path(path) for path in paths]
        self._open: OrderedDict[int, BinaryIO] = OrderedDict()
        index = _Index()
        for number, path in enumerate(self._paths):
            for record in _scan(path, number):
                index.add(record)
        index.resolve_revisits()
        self._locations, self._bodies = index.locations, index.bodies
        self._hosts = dict.fromkeys(url.split("/", 3)[2] for url in self._locations)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        while self._open:
            self._open.popitem()[1].close()

    def may_recover(self, host: str, target: str) -> bool:  # noqa: ARG002
        return False

    def hosts(self) -> list[str]:
        return list(self._hosts)

    def urls(self) -> list[str]:
        """Every URL that is served, without port and fragment, in the order in which they are first stored."""
        return list(self._locations)

    def truth(self) -> Iterator[tuple[str, str, str]]:
        """For each URL the outcome and reason of a correct crawl. Reads every record."""
        for url, location in self._locations.items():
            try:
                stored = self._read(location)
            except SnapshotError:
                yield url, "failed", "http-500"
            else:
                yield url, *_judge(stored)

    def serve(self, request: SimRequest, now_s: float) -> ServedAnswer:
        del now_s  # What is stored does not change.
        if request.host not in self._hosts:
            return ServedAnswer(unknown_host(), "unknown-host")
        if request.method not in ("GET", "HEAD"):
            return ServedAnswer(Reply(405, (("Allow", "GET, HEAD"),)), "method")
        location = self._locations.get(f"{request.scheme}://{request.host}{request.target}")
        if location is None:
            return ServedAnswer(html("<h1>Not found</h1><p>This snapshot has no such page.</p>", 404), "missing")
        try:
            stored = self._read(location)
        except SnapshotError as error:
            return ServedAnswer(text(str(error), 500), "unreadable")
        return ServedAnswer(Reply(*stored), "robots" if request.target == "/robots.txt" else "page")

    def _read(self, location: int) -> StoredReply:
        block = self._block(location)
        if location not in self._bodies:
            return _parse(block, self._name(location))
        original = self._bodies[location]
        stored = _parse(self._block(original), self._name(original))
        # A revisit has a head of its own, unless whoever wrote it saved even that.
        return _parse(block, self._name(location))._replace(body=stored.body) if block.strip() else stored

    def _block(self, location: int) -> bytes:
        try:
            file = self._file(location >> _OFFSET_BITS)
            file.seek(location & ((1 << _OFFSET_BITS) - 1))
            block: bytes = next(iter(WARCIterator(file, no_record_parse=True))).raw_stream.read()
        except (OSError, ArchiveLoadFailed, StopIteration) as error:
            raise SnapshotError(f"{self._name(location)}: the record is no longer there: {_line(error)}") from error
        return block

    def _file(self, number: int) -> BinaryIO:
        file = self._open.get(number)
        if file is None:
            file = self._open[number] = self._paths[number].open("rb")
            if len(self._open) > _MAX_OPEN:
                self._open.popitem(last=False)[1].close()
        self._open.move_to_end(number)
        return file

    def _name(self, location: int) -> str:
        return f"{self._paths[location >> _OFFSET_BITS]} at {location & ((1 << _OFFSET_BITS) - 1)}"


class SnapshotHosts(SimHosts):
    """The hosts of a snapshot, each at one address of 127.0.0.0/8 that follows from its name."""

    def __init__(self, names: list[str], http_port: int, https_port: int) -> None:
        # No host of a snapshot is called `.invalid` (RFC 2606 §2), so the zone hides none.
        super().__init__(
            WebSpec(hosts=len(names), suffix="invalid", http_port=http_port, https_port=https_port), exhibits=()
        )
        self._names = names
        self._numbers = {name: number for number, name in enumerate(names)}

    def name(self, number: int) -> str:
        return self._names[number]

    def find(self, name: str) -> SimHost | None:
        number = self._numbers.get(name)
        return None if number is None else self.get(number)

    def served_at(self, url: str) -> str:
        """A URL of the snapshot with the port at which it is served."""
        scheme, host, target = _split(url)
        port, usual = (self.spec.https_port, 443) if scheme == "https" else (self.spec.http_port, 80)
        return url if port == usual else f"{scheme}://{host}:{port}{target}"

    def _make(self, number: int) -> SimHost:
        name = self._names[number]
        draw = blake2b(name.encode(), digest_size=3).digest()
        return SimHost(
            name=name,
            number=number,
            content=number,
            scheme="http",
            port=self.spec.http_port,
            topic="",
            pages=1,
            robots="allow-all",
            trouble="",
            soft404=False,
            http10=False,
            latency_s=0.0,
            bandwidth=0,
            idle_s=self.spec.idle_s,
            addresses=(f"127.{16 + draw[0] % 239}.{draw[1]}.{1 + draw[2] % 254}",),
        )


class _Record(NamedTuple):
    """What the index wants to know of a record. `location` is the file's number and the offset in it."""

    is_revisit: bool
    url: str
    digest: str
    refers: str
    """The URL that a revisit refers to, or empty."""
    location: int


class _Index:
    """Puts together which record answers for which URL. The last one wins."""

    def __init__(self) -> None:
        self.locations: dict[str, int] = {}
        self.bodies: dict[int, int] = {}
        """For revisits: the response that has their body."""
        self._payloads: dict[str, int] = {}
        self._revisits: list[_Record] = []

    def add(self, record: _Record) -> None:
        if record.is_revisit:
            self._revisits.append(record)
            return
        self.locations[record.url] = record.location
        if record.digest:
            self._payloads[record.digest] = self._payloads[f"{record.digest} {record.url}"] = record.location

    def resolve_revisits(self) -> None:
        """After all records have been added: what a revisit refers to may come later, or in another file."""
        responses = self.locations.copy() if self._revisits else {}
        for revisit in self._revisits:
            # The response of the URL it names, if that has the same payload; any with the payload; any of the URL.
            body = self._payloads.get(f"{revisit.digest} {revisit.refers}", self._payloads.get(revisit.digest))
            if body is None:
                body = responses.get(revisit.refers)
            if body is not None and self.locations.get(revisit.url, -1) < revisit.location:
                self.locations[revisit.url] = revisit.location
                self.bodies[revisit.location] = body


def _scan(path: Path, number: int) -> Iterator[_Record]:
    """The responses and revisits of a file. Fails rather than serve half a record as if it were whole."""
    try:
        with path.open("rb") as file:
            records = WARCIterator(file, no_record_parse=True)
            is_empty = True
            for record in records:
                is_empty = False
                offset = records.get_record_offset()
                described = _describe(record, number << _OFFSET_BITS | offset)
                # warcio has now read to the end of the record. What is left of its length was not there.
                if getattr(record.raw_stream, "limit", 1):
                    raise SnapshotError(f"{path}: the record at {offset} is cut short")
                if described is not None:
                    yield described
    except (OSError, ArchiveLoadFailed) as error:
        raise SnapshotError(f"{path}: cannot be read as WARC: {_line(error)}") from error
    if is_empty:
        raise SnapshotError(f"{path}: there is no WARC record in it")


def _describe(record: Any, location: int) -> _Record | None:
    """None for what is not served. `record` is warcio's, which has no types."""
    header = record.rec_headers.get_header
    url = _canonical(header("WARC-Target-URI", ""))
    if url is None or record.rec_type not in ("response", "revisit"):
        return None
    refers = _canonical(header("WARC-Refers-To-Target-URI", "")) or url
    return _Record(record.rec_type == "revisit", url, header("WARC-Payload-Digest", ""), refers, location)


def _canonical(url: str) -> str | None:
    """A URL as requests name it: scheme, host, target. None for those that are left out."""
    scheme, host, target = _split(url)
    if not _HOST.fullmatch(host) or len(url) > _MAX_URL:
        return None
    return f"{scheme}://{host}{quote(target, safe=_PRINTABLE)}"


def _split(url: str) -> tuple[str, str, str]:
    """Scheme, host and target; all empty for a URL that is not http or https."""
    parts = _URL.match(url)
    if parts is None:
        return "", "", ""
    target = parts[3] if parts[3].startswith("/") else f"/{parts[3]}"
    return parts[1].lower(), host_of(parts[2]), target


def _parse(block: bytes, where: str) -> StoredReply:
    """The response in the block of a record. Reads what archives hold, bare line feeds and folded headers included."""
    status = _STATUS_LINE.match(block)
    end = _END_OF_HEAD.search(block)
    if status is None or end is None:
        raise SnapshotError(f"{where}: the record holds no HTTP response")
    lines = re.split(r"\r?\n(?![ \t])", block[: end.start()].decode("latin-1"))[1:]
    fields = (line.partition(":") for line in lines)
    pairs = [(name, re.sub(r"\s*[\r\n]\s*", " ", value).strip()) for name, _, value in fields]
    known = {name.lower(): value.lower() for name, value in pairs}
    left_out = _LEFT_OUT.union(name.strip() for name in known.get("connection", "").split(","))
    headers = tuple((name, value) for name, value in pairs if _TOKEN.fullmatch(name) and name.lower() not in left_out)
    body = block[end.end() :]
    if "chunked" in known.get("transfer-encoding", ""):
        body = ChunkedDataReader(BytesIO(body)).read()
    return StoredReply(int(status[1]), headers, body)


def _judge(stored: StoredReply) -> tuple[str, str]:
    status = stored.status
    if 200 <= status < 300:
        return "stored", "new"
    if 300 <= status < 400 and any(name.lower() == "location" for name, _ in stored.headers):
        return "redirected", f"http-{status}"
    return "gone" if status in (404, 410) else "failed", f"http-{status}"


def _line(error: Exception) -> str:
    """What an error says, on one line; warcio's messages have many."""
    return " ".join(str(error).split()) or type(error).__name__
