"""One suite for every implementation of the state."""

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.frontier.rig import opened_state, quick_directory
from whimbrel.state.api import SLOT_SPACES, SPACES, KeyValues
from whimbrel.state.group import Group
from whimbrel.state.memory import MemoryState
from whimbrel.state.rocks import RocksState

Open = Callable[[Path], RocksState]
IMPLEMENTATIONS: dict[str, Open] = {"rocks": opened_state}


@pytest.fixture(params=IMPLEMENTATIONS)
def state(request: pytest.FixtureRequest) -> Iterator[RocksState]:
    with quick_directory() as directory:
        state = IMPLEMENTATIONS[request.param](directory)
        yield state
        asyncio.run(state.close())


def write(state: RocksState, group: Group) -> None:
    state.write(group)
    state.forget(group)


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("put"), st.integers(0, 40)),
        st.tuples(st.just("delete"), st.integers(0, 40)),
        st.tuples(st.just("seal"), st.just(0)),
        st.tuples(st.just("write"), st.just(0)),
        st.tuples(st.just("reopen"), st.just(0)),
        st.tuples(st.just("scan"), st.integers(0, 40)),
    ),
    max_size=60,
)


@pytest.mark.parametrize("open_state", IMPLEMENTATIONS.values(), ids=IMPLEMENTATIONS)
@given(steps=STEPS)
@settings(max_examples=60, deadline=None)
def test_reads_see_every_change_and_a_reopened_state_those_that_were_written(
    open_state: Open, steps: list[tuple[str, int]]
) -> None:
    """In the space of queues, where two hosts must not get into each other's way."""
    hosts = (b"0123456789", b"0123456799")
    now: dict[bytes, bytes] = {}
    durable: dict[bytes, bytes] = {}
    sealed: list[tuple[Group, dict[bytes, bytes]]] = []
    with quick_directory() as directory:
        state = open_state(directory)
        for number, (what, which) in enumerate(steps, 1):
            key = hosts[which % 2] + bytes([which])
            if what == "put":
                now[key] = bytes([number])
                state.put("queue", key, now[key])
            elif what == "delete":
                now.pop(key, None)
                state.delete("queue", key)
            elif what == "seal":
                sealed.append((state.seal(number), dict(now)))
            elif what == "write" and sealed:
                group, durable = sealed.pop(0)
                write(state, group)
            elif what == "reopen":
                asyncio.run(state.close())
                state = open_state(directory)
                now, sealed = dict(durable), []
            assert state.get("queue", key) == now.get(key)
            host = hosts[which % 2]
            wanted = sorted(pair for pair in now.items() if pair[0].startswith(host))
            assert state.scan("queue", host, host + b"\xff", 1_000) == wanted
            assert state.scan("queue", host, host + b"\xff", 3) == wanted[:3]
            assert state.pairs("queue", b"", b"\xff", 1_000) == sorted(now.items())
            assert state.pairs("queue", hosts[0], hosts[1], 3) == wanted_of(now, hosts[0])[:3]
        asyncio.run(state.close())


@pytest.mark.parametrize("space", SPACES)
def test_every_space_keeps_its_own_values(state: RocksState, space: str) -> None:
    key = b"a key of twenty bytes"
    state.put(space, key, space.encode())
    assert [other for other in SPACES if state.get(other, key) is not None] == [space]
    write(state, state.seal(1))
    assert [other for other in SPACES if state.get(other, key) is not None] == [space]
    state.delete(space, key)
    assert state.get(space, key) is None
    write(state, state.seal(2))
    assert state.get(space, key) is None
    assert state.stored(space, key) is None


def test_a_group_is_seen_as_a_whole_until_its_write_has_returned(state: RocksState) -> None:
    state.put("counts", b"a", b"1")
    first = state.seal(1)
    state.put("counts", b"a", b"2")
    second = state.seal(2)
    assert state.get("counts", b"a") == b"2"
    assert state.stored("counts", b"a") is None
    write(state, first)
    assert state.get("counts", b"a") == b"2"
    assert state.stored("counts", b"a") == b"1"
    write(state, second)
    assert state.get("counts", b"a") == state.stored("counts", b"a") == b"2"


def test_groups_are_forgotten_in_their_order(state: RocksState) -> None:
    state.seal(1)
    second = state.seal(2)
    with pytest.raises(AssertionError, match="in order"):
        state.forget(second)


def test_the_open_group_says_how_much_it_changes(state: RocksState) -> None:
    write(state, state.seal(1))
    assert state.changed == 0
    state.put("urls", b"a", b"")
    state.put("urls", b"a", b"")
    state.delete("queue", b"b")
    assert state.changed == 2


def test_keys_are_those_of_all_groups(state: RocksState) -> None:
    for number, key in enumerate((b"a", b"b"), 1):
        state.put("urls", key, b"")
        group = state.seal(number)
        if number == 1:
            write(state, group)
    state.put("urls", b"c", b"")
    assert sorted(state.keys("urls")) == [b"a", b"b", b"c"]


def wanted_of(pairs: dict[bytes, bytes], host: bytes) -> list[tuple[bytes, bytes]]:
    return sorted(pair for pair in pairs.items() if pair[0].startswith(host))


def test_every_space_but_those_of_times_and_of_the_crawl_begins_with_a_slot() -> None:
    assert {*SPACES} - {*SLOT_SPACES} == {"due", "retry", "meta"}


def test_a_value_may_be_empty_and_is_not_the_same_as_none(state: RocksState) -> None:
    state.put("urls", b"dropped", b"")
    assert (state.get("urls", b"dropped"), state.get("urls", b"unknown")) == (b"", None)
    write(state, state.seal(1))
    assert (state.get("urls", b"dropped"), state.get("urls", b"unknown")) == (b"", None)


def test_to_delete_what_is_not_there_is_nothing(state: RocksState) -> None:
    state.delete("hosts", b"nobody")
    write(state, state.seal(1))
    assert state.get("hosts", b"nobody") is None
    assert state.pairs("hosts", b"", b"\xff", 10) == []


def test_a_reopened_state_has_what_was_written_and_what_is_still_in_memory(state: RocksState) -> None:
    state.put("hosts", b"a", b"1")
    write(state, state.seal(1))
    state.put("hosts", b"b", b"2")
    group = state.seal(2)
    state.put("hosts", b"c", b"3")
    state.reopen()
    assert not state.failed
    assert state.pairs("hosts", b"", b"\xff", 10) == [(b"a", b"1"), (b"b", b"2"), (b"c", b"3")]
    assert [state.stored("hosts", key) for key in (b"a", b"b", b"c")] == [b"1", None, None]
    write(state, group)
    assert state.stored("hosts", b"b") == b"2"


@pytest.mark.parametrize("kind", ["rocks", "memory"])
@given(steps=st.lists(st.tuples(st.sampled_from(["put", "delete", "scan"]), st.integers(0, 20)), max_size=40))
@settings(max_examples=40, deadline=None)
def test_keys_and_values_are_those_of_a_dictionary(kind: str, steps: list[tuple[str, int]]) -> None:
    truth: dict[bytes, bytes] = {}
    with quick_directory() as directory:
        state: KeyValues = opened_state(directory) if kind == "rocks" else MemoryState()
        for number, (what, which) in enumerate(steps):
            key = b"0123456789" + bytes([which])
            if what == "put":
                truth[key] = bytes([number])
                state.put("queue", key, truth[key])
            elif what == "delete":
                truth.pop(key, None)
                state.delete("queue", key)
            assert state.get("queue", key) == truth.get(key)
            wanted = sorted(pair for pair in truth.items() if pair[0] >= key)[:3]
            assert state.scan("queue", key, b"0123456789\xff", 3) == wanted
            assert state.get("hosts", key) is None, "each space is by itself"
        if isinstance(state, RocksState):
            asyncio.run(state.close())
