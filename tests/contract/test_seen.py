"""One suite for every provider of URL-seen, on a real database."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.frontier.rig import opened_state, quick_directory
from whimbrel.frontier.seen import BloomConfig, BloomSeen, DiskSeen, SeenConfig
from whimbrel.state.rocks import RocksState
from whimbrel.url.key import Keys

Seen = DiskSeen | BloomSeen
ERROR = 0.01


def exact(state: RocksState) -> Seen:
    return _bound(DiskSeen(SeenConfig(cached=10)), state)


def bloom(state: RocksState) -> Seen:
    return _bound(BloomSeen(BloomConfig(urls=2_000, error=ERROR)), state)


def _bound(seen: Seen, state: RocksState) -> Seen:
    seen.bind("state", state)
    asyncio.run(seen.open())
    return seen


def commit(state: RocksState, number: int) -> None:
    group = state.seal(number)
    state.write(group)
    state.forget(group)


@pytest.fixture(params=[exact, bloom], ids=["exact", "bloom"])
def make(request: pytest.FixtureRequest) -> Callable[[RocksState], Seen]:
    found: Callable[[RocksState], Seen] = request.param
    return found


def keys(count: int, start: int = 0) -> list[bytes]:
    named = Keys(b"a secret of tests")
    return [named.url(f"http://a.example/{number}") for number in range(start, start + count)]


def test_a_key_is_new_once_whatever_group_it_is_in(make: Callable[[RocksState], Seen], state: RocksState) -> None:
    seen = make(state)
    open_, sealed, written = keys(3)
    assert seen.add(written)
    commit(state, 1)
    assert seen.add(sealed)
    group = state.seal(2)
    assert seen.add(open_)
    assert not any(map(seen.add, (open_, sealed, written)))
    assert not any(map(make(state).add, (open_, sealed, written))), "a provider that is put in while the crawl runs"
    state.write(group)
    state.forget(group)
    assert not any(map(seen.add, (open_, sealed, written)))


def test_a_known_key_is_never_new_and_few_new_ones_are_known(
    make: Callable[[RocksState], Seen], state: RocksState
) -> None:
    seen = make(state)
    first = keys(2_000)
    wrong = sum(not seen.add(key) for key in first)
    assert wrong <= (0 if make is exact else 2 * ERROR * len(first))
    assert not any(map(seen.add, first))


def test_keys_survive_the_process_and_lost_groups_do_not(make: Callable[[RocksState], Seen], directory: Path) -> None:
    state = opened_state(directory)
    seen = make(state)
    kept, lost = keys(50), keys(50, 1_000)
    assert all(map(seen.add, kept))
    commit(state, 1)
    assert all(map(seen.add, lost))
    asyncio.run(state.close())
    state = opened_state(directory)
    seen = make(state)
    assert not any(map(seen.add, kept))
    assert sum(map(seen.add, lost)) >= (50 if make is exact else 48)
    asyncio.run(state.close())


def test_providers_can_be_exchanged_at_every_restart(directory: Path) -> None:
    known: set[bytes] = set()
    for turn, make in enumerate([bloom, exact, bloom, bloom, exact]):
        state = opened_state(directory)
        seen = make(state)
        assert not any(map(seen.add, known))
        known |= {key for key in keys(100, 100 * turn) if seen.add(key)}
        commit(state, turn + 1)
        asyncio.run(state.close())
    assert len(known) >= 495


def test_what_a_bloom_filter_takes_for_known_is_not_written(state: RocksState) -> None:
    """So that the exact provider, when it takes over, visits it after all."""
    full = _bound(BloomSeen(BloomConfig(urls=10, error=0.5)), state)
    refused = [key for key in keys(300) if not full.add(key)]
    assert refused
    assert all(map(exact(state).add, refused))


def test_the_cache_is_bounded_and_keeps_what_is_asked_for_again(state: RocksState) -> None:
    seen = exact(state)
    assert isinstance(seen, DiskSeen)
    popular, *others = keys(500)
    seen.add(popular)
    for key in others:
        seen.add(key)
        assert not seen.add(popular)
        assert len(seen._young) + len(seen._old) <= 12
    assert seen.from_memory == len(others)


@given(st.lists(st.tuples(st.integers(0, 30), st.sampled_from(["add", "seal", "write"])), max_size=80))
@settings(max_examples=40, deadline=None)
def test_the_exact_provider_equals_a_set(steps: list[tuple[int, str]]) -> None:
    named = keys(31)
    with quick_directory() as directory:
        state = opened_state(directory)
        seen, known, sealed = exact(state), set(), []
        for number, (which, what) in enumerate(steps, 1):
            if what == "add":
                assert seen.add(named[which]) == (which not in known)
                known.add(which)
            elif what == "seal":
                sealed.append(state.seal(number))
            elif sealed:
                group = sealed.pop(0)
                state.write(group)
                state.forget(group)
        asyncio.run(state.close())
