"""Payloads are fingerprinted and looked up; the first capture of each is remembered."""

import asyncio
from hashlib import sha1

from hypothesis import given
from hypothesis import strategies as st

from tests.parse.answers import fetched, response
from whimbrel.dedupe import rocks
from whimbrel.dedupe.api import Fingerprinted
from whimbrel.dedupe.dedupe import Dedupe
from whimbrel.dedupe.rocks import RocksContent
from whimbrel.fetch.api import Fetched
from whimbrel.state.api import State


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


def content(state: State) -> RocksContent:
    made = RocksContent()
    made.bind("state", state)
    asyncio.run(made.open())
    return made


def look_up(seen: RocksContent, visit: Fetched) -> Fingerprinted:
    dedupe = Dedupe()
    dedupe.bind("content", seen)
    (found,) = dedupe.process(visit)
    return found


def test_a_payload_is_known_by_the_capture_that_brought_it_first() -> None:
    state = DictState()
    seen = content(state)
    visit = fetched(response(200, b"payload"))
    first = look_up(seen, visit)
    assert (first.digest, first.duplicate_of) == (sha1(b"payload", usedforsecurity=False).digest(), "")
    assert seen.claim(first.digest, "http://a.test/", 7.5) is None
    assert seen.claim(first.digest, "http://b.test/", 9.0) == ("http://a.test/", 7.5)
    again = look_up(content(state), visit)
    assert (again.duplicate_of, again.duplicate_at_s) == ("http://a.test/", 7.5)
    assert [(space, len(key)) for space, key in state.pairs] == [("content", 16)]


def test_only_answers_of_200_to_299_are_looked_up() -> None:
    seen = content(DictState())
    seen.claim(sha1(b"excuse", usedforsecurity=False).digest(), "http://a.test/", 1.0)
    for status, expected in ((200, "http://a.test/"), (206, "http://a.test/"), (301, ""), (404, ""), (500, "")):
        found = look_up(seen, fetched(response(status, b"excuse")))
        assert (found.duplicate_of, found.digest) == (expected, sha1(b"excuse", usedforsecurity=False).digest())


def test_a_visit_without_an_answer_has_no_digest() -> None:
    found = look_up(content(DictState()), fetched(None, trouble="reset"))
    assert (found.digest, found.duplicate_of, found.duplicate_at_s) == (b"", "", 0.0)


def test_what_is_asked_for_again_is_answered_from_memory() -> None:
    state = DictState()
    seen = content(state)
    seen.claim(b"d" * 20, "http://a.test/", 1.0)
    reads = state.reads
    assert seen.find(b"d" * 20) == ("http://a.test/", 1.0)
    assert state.reads == reads


def test_the_memory_is_bounded_and_what_left_it_is_still_known() -> None:
    seen = content(DictState())
    digests = [at.to_bytes(20, "little") for at in range(rocks._CACHED + 10)]
    for digest in digests:
        seen.claim(digest, "http://a.test/", 1.0)
    assert len(seen._young) + len(seen._old) <= rocks._CACHED + 1
    assert seen.find(digests[0]) == ("http://a.test/", 1.0)
    assert len(seen._young) + len(seen._old) <= rocks._CACHED + 1


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 100))))
def test_the_first_claim_of_each_payload_stands(claims: list[tuple[int, int]]) -> None:
    seen = content(DictState())
    first: dict[int, tuple[str, float]] = {}
    for payload, place in claims:
        digest = sha1(bytes([payload]), usedforsecurity=False).digest()
        assert seen.claim(digest, f"http://{place}.test/", float(place)) == first.get(payload)
        first.setdefault(payload, (f"http://{place}.test/", float(place)))
        assert seen.find(digest) == first[payload]
