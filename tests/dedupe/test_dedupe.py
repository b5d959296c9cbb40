"""Payloads are fingerprinted and looked up; the first capture of each is remembered."""

import asyncio
from collections.abc import Callable
from hashlib import sha1
from typing import ClassVar

from hypothesis import given
from hypothesis import strategies as st

from tests.parse.answers import fetched, response
from whimbrel.dedupe.api import ContentSeen, Fingerprinted, FirstCapture
from whimbrel.dedupe.dedupe import Dedupe
from whimbrel.dedupe.rocks import RocksContent
from whimbrel.fetch.api import Fetched
from whimbrel.flow import (
    Async,
    ComponentSpec,
    ConnectorSpec,
    In,
    Job,
    Out,
    Provider,
    ProviderSpec,
    Registry,
    Sync,
    Wiring,
    check,
)
from whimbrel.observable import Observable

PAYLOAD = b"payload " * 50


class DictState:
    """A state of one dictionary."""

    def __init__(self) -> None:
        self.pairs: dict[tuple[str, bytes], bytes] = {}
        self.reads = 0

    def get(self, space: str, key: bytes) -> bytes | None:
        self.reads += 1
        return self.pairs.get((space, key))

    def put(self, space: str, key: bytes, value: bytes) -> None:
        self.pairs[space, key] = value

    def delete(self, space: str, key: bytes) -> None:
        del self.pairs[space, key]

    def scan(self, space: str, start: bytes, end: bytes, most: int) -> list[tuple[bytes, bytes]]:
        found = sorted((key, value) for (where, key), value in self.pairs.items() if where == space)
        return [pair for pair in found if start <= pair[0] < end][:most]


def content(state: DictState) -> RocksContent:
    made = RocksContent()
    made.bind("state", state)
    asyncio.run(made.open())
    return made


class Visits(Async):
    """Gives what it was told."""

    fetched = Out(Fetched)
    given: ClassVar[list[Fetched]] = []

    async def run(self) -> None:
        for visit in self.given:
            await self.fetched.put(visit)


class Looked(Sync):
    """Keeps what it gets."""

    fingerprinted = In(Fingerprinted)
    kept: ClassVar[list[Fingerprinted]] = []

    def process(self, found: Fingerprinted) -> None:
        self.kept.append(found)


class Roomy(Provider, Observable):
    """A group that is never full."""

    is_full = False


def look_up(seen: ContentSeen, *visits: Fetched) -> list[Fingerprinted]:
    """What a job of its own makes of visits."""

    class Given(Visits):
        given: ClassVar[list[Fetched]] = list(visits)

    class Kept(Looked):
        kept: ClassVar[list[Fingerprinted]] = []

    class Seen(Provider):
        find, claim = seen.find, seen.claim

    wiring = Wiring(
        "dedupe",
        (
            ComponentSpec("visits", Given),
            ComponentSpec("dedupe", Dedupe, needs={"content": "content", "journal": "journal"}),
            ComponentSpec("looked", Kept),
        ),
        (
            ConnectorSpec("visits.fetched", "dedupe.fetched"),
            ConnectorSpec("dedupe.fingerprinted", "looked.fingerprinted", "direct"),
        ),
        (ProviderSpec("content", Seen), ProviderSpec("journal", Roomy)),
    )
    asyncio.run(Job(check(wiring, Registry()), Registry()).run())
    return Kept.kept


def find(seen: ContentSeen, digest: bytes) -> FirstCapture | None:
    found: list[FirstCapture | None] = []
    seen.find(digest, found.append)
    (earlier,) = found
    return earlier


def test_a_payload_is_known_by_the_capture_that_brought_it_first() -> None:
    state = DictState()
    seen = content(state)
    visit = fetched(response(200, PAYLOAD))
    (first,) = look_up(seen, visit)
    assert (first.digest, first.earlier) == (sha1(PAYLOAD, usedforsecurity=False).digest(), None)
    capture = FirstCapture("http://a.test/", 7.5)
    assert seen.claim(first.digest, capture) is None
    assert seen.claim(first.digest, FirstCapture("http://b.test/", 9.0)) == capture
    (again,) = look_up(content(state), visit)
    assert again.earlier == capture
    assert [(space, len(key)) for space, key in state.pairs] == [("content", 18)]


def test_only_answers_of_200_to_299_are_looked_up() -> None:
    seen = content(DictState())
    capture = FirstCapture("http://a.test/", 1.0)
    seen.claim(sha1(PAYLOAD, usedforsecurity=False).digest(), capture)
    for status, expected in ((200, capture), (206, capture), (301, None), (404, None), (500, None)):
        (found,) = look_up(seen, fetched(response(status, PAYLOAD)))
        assert (found.earlier, found.digest) == (expected, sha1(PAYLOAD, usedforsecurity=False).digest())


def test_a_document_too_short_for_a_duplicate_is_not_looked_up_unless_a_coding_hides_its_length() -> None:
    state = DictState()
    seen = content(state)
    short, long = PAYLOAD[:255], PAYLOAD[:256]
    capture = FirstCapture("http://a.test/", 1.0)
    for payload in (short, long):
        seen.claim(sha1(payload, usedforsecurity=False).digest(), capture)
    packed = {"content-encoding": "gzip"}
    answers = [response(200, b""), response(200, short), response(200, long), response(200, short, **packed)]
    found = look_up(seen, *map(fetched, answers))
    assert [one.earlier for one in found] == [None, None, capture, capture]
    assert found[1].digest == sha1(short, usedforsecurity=False).digest()


def test_a_visit_without_an_answer_has_no_digest() -> None:
    (found,) = look_up(content(DictState()), fetched(None, trouble="reset"))
    assert (found.digest, found.earlier) == (b"", None)


class SlowContent:
    """Answers when three have asked, the last one first."""

    def __init__(self) -> None:
        self.asked: list[Callable[[FirstCapture | None], None]] = []

    def find(self, digest: bytes, found: Callable[[FirstCapture | None], None]) -> None:
        self.asked.append(found)
        if len(self.asked) == 3:
            for number, answer in enumerate(reversed(self.asked)):
                asyncio.get_running_loop().call_soon(answer, FirstCapture(f"http://{number}.test/", 1.0))

    def claim(self, digest: bytes, capture: FirstCapture) -> FirstCapture | None:
        return None


def test_a_lookup_that_takes_time_keeps_no_other_waiting() -> None:
    slow = SlowContent()
    seen = look_up(
        slow, *(fetched(response(200, b"%0300d" % number)) for number in range(3)), fetched(None, trouble="reset")
    )
    assert len(slow.asked) == 3
    assert [None if one.earlier is None else one.earlier.url for one in seen] == [
        None,
        *("http://0.test/", "http://1.test/", "http://2.test/"),
    ]
    payloads = [one.exchange.response.document.read() for one in seen if one.exchange.response is not None]
    assert list(map(int, payloads)) == [2, 1, 0]


def test_what_is_asked_for_again_is_answered_from_memory() -> None:
    state = DictState()
    seen = content(state)
    seen.claim(b"d" * 20, FirstCapture("http://a.test/", 1.0))
    reads = state.reads
    assert find(seen, b"d" * 20) == FirstCapture("http://a.test/", 1.0)
    assert state.reads == reads


def test_what_has_left_the_memory_is_still_known() -> None:
    state = DictState()
    seen = content(state)
    for at in range(50_000):
        seen.claim(at.to_bytes(20, "little"), FirstCapture("http://a.test/", 1.0))
    reads = state.reads
    assert find(seen, bytes(20)) == FirstCapture("http://a.test/", 1.0)
    assert state.reads > reads


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 100))))
def test_the_first_claim_of_each_payload_stands(claims: list[tuple[int, int]]) -> None:
    seen = content(DictState())
    first: dict[int, FirstCapture] = {}
    for payload, place in claims:
        digest = sha1(bytes([payload]), usedforsecurity=False).digest()
        capture = FirstCapture(f"http://{place}.test/", float(place))
        assert seen.claim(digest, capture) == first.get(payload)
        first.setdefault(payload, capture)
        assert find(seen, digest) == first[payload]
