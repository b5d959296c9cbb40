"""One suite for every provider of content-seen, on a real database."""

import asyncio
from collections.abc import Callable
from hashlib import sha1
from pathlib import Path

import pytest

from tests.frontier.rig import opened_state
from whimbrel.dedupe.api import ContentSeen, FirstCapture
from whimbrel.dedupe.rocks import RocksContent
from whimbrel.state.rocks import RocksState

FIRST, SECOND = FirstCapture("http://a.test/", 7.5), FirstCapture("http://b.test/", 9.0)


def rocks_content(state: RocksState) -> ContentSeen:
    made = RocksContent()
    made.bind("state", state)
    asyncio.run(made.open())
    return made


Made = Callable[[RocksState], ContentSeen]


@pytest.fixture(params=[rocks_content], ids=["disk-content"])
def made(request: pytest.FixtureRequest) -> Made:
    found: Made = request.param
    return found


def digest(payload: bytes) -> bytes:
    return sha1(payload, usedforsecurity=False).digest()


def find(seen: ContentSeen, payload: bytes) -> FirstCapture | None:
    """The answer, which comes exactly once."""
    found: list[FirstCapture | None] = []
    seen.find(digest(payload), found.append)
    assert len(found) == 1, "providers here answer at once"
    return found[0]


def test_looking_a_payload_up_claims_nothing(made: Made, state: RocksState) -> None:
    seen = made(state)
    assert find(seen, b"x") is None
    assert find(seen, b"x") is None
    assert seen.claim(digest(b"x"), FIRST) is None, "the first claim stands"


def test_the_first_claim_stands_and_later_ones_are_told_of_it(made: Made, state: RocksState) -> None:
    seen = made(state)
    assert seen.claim(digest(b"x"), FIRST) is None
    assert seen.claim(digest(b"x"), SECOND) == FIRST
    assert find(seen, b"x") == FIRST
    assert find(seen, b"y") is None


def test_two_that_looked_before_either_claimed_are_told_apart_by_their_claims(made: Made, state: RocksState) -> None:
    seen = made(state)
    assert (find(seen, b"x"), find(seen, b"x")) == (None, None)
    assert (seen.claim(digest(b"x"), FIRST), seen.claim(digest(b"x"), SECOND)) == (None, FIRST)


def test_a_claim_becomes_durable_with_its_group_and_not_before(made: Made, directory: Path) -> None:
    state = opened_state(directory)
    made(state).claim(digest(b"x"), FIRST)
    group = state.seal(1)
    state.write(group)
    state.forget(group)
    made(state).claim(digest(b"y"), SECOND)
    asyncio.run(state.close())
    state = opened_state(directory)
    again = made(state)
    assert (find(again, b"x"), find(again, b"y")) == (FIRST, None)
    asyncio.run(state.close())


def test_its_keys_begin_with_the_slot_of_the_fingerprint(made: Made, state: RocksState) -> None:
    seen = made(state)
    for number in range(50):
        seen.claim(digest(b"%d" % number), FIRST)
    group = state.seal(1)
    slots = {key[:2] for space, key, _ in group.changes() if space == "content"}
    assert len(slots) > 25, "payloads of one site are spread over the slots"
    assert all(int.from_bytes(slot) < 1024 for slot in slots)
