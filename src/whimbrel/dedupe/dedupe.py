"""Fingerprints payloads, and asks whether they have been seen."""

from functools import partial
from hashlib import sha1

from whimbrel.dedupe.api import ContentSeen, Fingerprinted, FirstCapture
from whimbrel.fetch.api import Fetched
from whimbrel.flow import Concurrent, Config, Delivery, In, Inlet, Needs, Out, Outlet
from whimbrel.observable import GroupStatus
from whimbrel.outcome.duplicate import is_comparable


class DedupeConfig(Config, frozen=True):
    pending: int = 256
    """Payloads that may wait for content-seen at once."""


class Dedupe(Concurrent[Fetched, Fingerprinted]):
    """A content-seen that answers at once keeps nothing waiting: the answer goes on in the same step.

    Here answers wait while the group is full: as they came they are small or on disk, and what is made of one may be
    many times as large.
    """

    Config = DedupeConfig
    live = frozenset({"pending"})
    fetched = In(Fetched)
    fingerprinted = Out(Fingerprinted)
    content = Needs(ContentSeen)
    journal = Needs(GroupStatus)

    @property
    def source(self) -> Inlet[Fetched]:
        return self.fetched

    @property
    def target(self) -> Outlet[Fingerprinted]:
        return self.fingerprinted

    @property
    def room(self) -> int:
        pending: int = self.config.pending
        return 0 if self.journal.is_full else pending

    async def run(self) -> None:
        self.journal.listen(self.activity.set)
        try:
            await super().run()
        finally:
            self.journal.unlisten(self.activity.set)

    def begin(self, delivery: Delivery[Fetched]) -> None:
        visit, exchange = delivery.item.visit, delivery.item.exchange
        response = exchange.response
        if response is None:
            self.finish(delivery, Fingerprinted(visit, exchange, b""))
            return
        # SHA-1 is what WARC-Payload-Digest and CDXJ hold; it names payloads here and guards nothing.
        payload = response.document.read()
        digest = sha1(payload, usedforsecurity=False).digest()
        # A content coding hides how long the document is; the parser, which takes it off, comes later.
        if response.has_document and (is_comparable(len(payload)) or response.header("content-encoding")):
            self.content.find(digest, partial(self._found, delivery, digest))
        else:
            self.finish(delivery, Fingerprinted(visit, exchange, digest))

    def _found(self, delivery: Delivery[Fetched], digest: bytes, earlier: FirstCapture | None) -> None:
        self.finish(delivery, Fingerprinted(delivery.item.visit, delivery.item.exchange, digest, earlier))
