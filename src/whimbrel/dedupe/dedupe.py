"""Fingerprints payloads."""

from hashlib import sha1

from whimbrel.dedupe.api import ContentSeen, Fingerprinted
from whimbrel.fetch.api import Fetched
from whimbrel.flow import In, Needs, Out, Sync


class Dedupe(Sync):
    fetched = In(Fetched)
    fingerprinted = Out(Fingerprinted)
    content = Needs(ContentSeen)

    def process(self, fetched: Fetched) -> tuple[Fingerprinted]:
        response = fetched.exchange.response
        if response is None:
            return (Fingerprinted(fetched, b""),)
        # SHA-1 is what WARC-Payload-Digest and CDXJ hold; it names payloads here and guards nothing.
        digest = sha1(response.document.read(), usedforsecurity=False).digest()
        earlier = self.content.find(digest) if response.has_document else None
        return (Fingerprinted(fetched, digest, *earlier) if earlier else Fingerprinted(fetched, digest),)
