"""The access log: one line per exchange, good enough to prove politeness afterwards.

Tab-separated, with a header line. Times are real seconds since 1970. `start` is when the whole request had been read,
`end` is just before the last byte of the answer went to the kernel, or when the connection was lost. `connection`
numbers the TCP connections; `server` is the address and port that the client connected to. `since` is a time at which
the client had not yet begun with this request: when its connection was opened, if it is the first there, else a little
before `start`; and as much earlier as the server had no time to look.
"""

from pathlib import Path
from types import TracebackType
from typing import IO, Final, NamedTuple, Self

COLUMNS: Final = (
    *("start", "end", "connection", "client", "server", "scheme", "http", "method", "host", "target", "status"),
    *("bytes", "served", "agent", "since"),
)
_FLUSH_LINES: Final = 2_000


class LoggedExchange(NamedTuple):
    start: float
    end: float
    connection: int
    client: str
    server: str
    scheme: str
    http: str
    method: str
    host: str
    target: str
    status: int
    bytes: int
    served: str
    """`page`, `robots`, `missing`, an exhibit's name, or `unknown-host`."""
    agent: str
    since: float


class AccessLog:
    """Collects lines and writes them in blocks; `flush` at the latest every second is the owner's duty."""

    def __init__(self, path: Path | None) -> None:
        self._file: IO[str] | None = None
        self._lines: list[str] = []
        if path is not None:
            self._file = path.open("w", encoding="utf-8", errors="backslashreplace")
            self._file.write("\t".join(COLUMNS) + "\n")
            self._file.flush()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.flush()
        if self._file is not None:
            self._file.close()
            self._file = None

    def add(self, e: LoggedExchange) -> None:
        if self._file is None:
            return
        method, host, target, agent, http = e.method, e.host, e.target, e.agent, e.http
        if not f"{method}{host}{target}{agent}{http}".isprintable():
            # Hostile clients may put tabs and control characters anywhere.
            method, host, target, agent, http = map(_clean, (method, host, target, agent, http))
        self._lines.append(
            f"{e.start:.6f}\t{e.end:.6f}\t{e.connection}\t{e.client}\t{e.server}\t{e.scheme}\t{http}\t{method}\t"
            f"{host}\t{target}\t{e.status}\t{e.bytes}\t{e.served}\t{agent}\t{e.since:.6f}\n"
        )
        if len(self._lines) >= _FLUSH_LINES:
            self.flush()

    def flush(self) -> None:
        if self._file is not None and self._lines:
            self._file.write("".join(self._lines))
            self._file.flush()
            self._lines.clear()


def _clean(text: str) -> str:
    return text if text.isprintable() else text.encode("unicode_escape").decode("ascii")


def read_log(path: Path) -> list[LoggedExchange]:
    """Read a log back; a half-written last line is left out."""
    exchanges = []
    with path.open(encoding="utf-8") as lines:
        next(lines)
        for line in lines:
            if line.endswith("\n"):
                start, end, number, *texts, status, size, served, agent, since = line[:-1].split("\t")
                client, server, scheme, http, method, host, target = texts
                exchanges.append(
                    LoggedExchange(
                        *(float(start), float(end), int(number), client, server, scheme, http, method, host, target),
                        *(int(status), int(size), served, agent, float(since)),
                    )
                )
    return exchanges
