"""The values between the parts of the comparison, and what a peer must say of itself."""

from typing import Final, Literal, Protocol

import msgspec

from whimbrel.error import UsageError

HTTP_PORT: Final = 18_080
HTTPS_PORT: Final = 18_443
"""Written into the links of a corpus, so fixed; in a private network they are always free."""
DNS_PORT: Final = 53
PUBLIC_DNS_PORT: Final = 18_053
"""Where names are answered when there is no private network."""

CorpusName = Literal["documents", "small", "realistic", "quotes"]
"""`quotes` is for those that extract items, and compares the same extraction."""


class PeersError(UsageError):
    """The comparison cannot go on; the message says what to do."""


class Book(msgspec.Struct, frozen=True):
    """Pages of one documentation package."""

    host: str
    generator: str
    folder: str
    pages: int


class CorpusSpec(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that decides the bytes of a corpus."""

    name: CorpusName
    hosts: int
    pages: int
    """Per host."""
    page_bytes: int
    """The size of a page; with a tail, the median."""
    has_tail: bool
    links: int
    neighbours: int
    """Hosts of a neighbourhood."""
    scheme: Literal["http", "https"]
    is_gzipped: bool
    books: tuple[Book, ...] = ()
    """Real pages, which take the place of made-up ones."""

    @property
    def all_pages(self) -> int:
        return sum(book.pages for book in self.books) if self.books else self.hosts * self.pages


class PeerTask(msgspec.Struct, frozen=True, kw_only=True):
    """What a peer is told: begin with these seeds and keep what you keep in `into`."""

    corpus: CorpusName
    seeds: list[str]
    seed_file: str
    into: str
    ca: str
    resolver: str
    connections: int


class Peer(Protocol):
    name: str
    sampled: frozenset[CorpusName]
    """The corpora of which it gets a sample: it is slow there, or does not survive the whole."""
    needs_private: bool
    """Cannot be told a name server."""
    extracts: bool
    """Can take items out of pages, and has a spider for the corpus `quotes`."""
    settings: str
    """What is on and what is not, for whoever reads the figures."""

    def version(self) -> str | None:
        """None when it is not installed."""
        ...

    def command(self, visit: PeerTask) -> list[str]: ...


class PeerRun(msgspec.Struct, frozen=True, kw_only=True):
    """What one peer did with one corpus. Costs include the start and the end of its processes."""

    corpus: str
    peer: str
    round: int
    pages: int
    """Different pages that the server sent in full."""
    expected: int
    fetches: int
    """With those that were fetched again."""
    cpu_s: float
    """User and system time of all its processes."""
    elapsed_s: float
    peak_mb: float
    stored_bytes: int
    kept: dict[str, int]
    """What its folder holds, bytes by kind of file."""
    exit_code: int
    others: float | None
    """Share of the crawler's core that went to other work meanwhile; None when it had no core of its own."""
    note: str = ""


class AbsentPeer(msgspec.Struct, frozen=True):
    corpus: str
    peer: str
    reason: str


class PeersPlan(msgspec.Struct, frozen=True, kw_only=True):
    """What the process in the private place is to do."""

    corpora: list[CorpusSpec]
    peers: list[str]
    """Empty: all."""
    peers_env: str
    work: str
    sample: int
    rounds: int
    connections: int
    timeout_s: float
    is_private: bool


class PeersResult(msgspec.Struct, frozen=True, kw_only=True):
    server: str
    cores: str
    pages: dict[str, int]
    """Of each corpus, whoever crawled how much of it."""
    versions: dict[str, str]
    settings: dict[str, str]
    runs: list[PeerRun]
    absent: list[AbsentPeer]
