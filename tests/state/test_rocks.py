"""The state: groups, scans through them, and what keeps two crawls apart."""

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.frontier.rig import opened_state, quick_directory
from whimbrel.state.api import SPACES
from whimbrel.state.group import Group, merged
from whimbrel.state.rocks import RocksState, StateError

KEYS = st.binary(min_size=1, max_size=3)
CHANGES = st.dictionaries(KEYS, st.none() | st.binary(max_size=2), max_size=12)


@pytest.fixture
def directory() -> Iterator[Path]:
    with quick_directory() as found:
        yield found


@pytest.fixture
def state(directory: Path) -> Iterator[RocksState]:
    state = opened_state(directory)
    yield state
    asyncio.run(state.close())


def write(state: RocksState, group: Group) -> None:
    state.write(group)
    state.forget(group)


@given(
    st.dictionaries(KEYS, st.binary(max_size=2), max_size=20),
    st.lists(CHANGES, max_size=3),
    st.tuples(KEYS, KEYS).map(sorted),
    st.integers(0, 30),
)
@settings(max_examples=400, deadline=None)
def test_a_scan_through_layers_equals_a_sorted_dictionary(
    stored: dict[bytes, bytes], layers: list[dict[bytes, bytes | None]], ends: list[bytes], most: int
) -> None:
    start, end = ends
    truth: dict[bytes, bytes | None] = dict(stored)
    for layer in layers:
        truth.update(layer)
    wanted = [(k, v) for k, v in sorted(truth.items()) if v is not None and start <= k < end][:most]
    beneath = iter(sorted((k, v) for k, v in stored.items() if start <= k < end))
    assert merged(layers, beneath, start, end, most) == wanted


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


@given(STEPS)
@settings(max_examples=60, deadline=None)
def test_reads_see_every_change_and_a_reopened_state_those_that_were_written(steps: list[tuple[str, int]]) -> None:
    """In the space of queues, where two hosts must not get into each other's way."""
    hosts = (b"0123456789", b"0123456799")
    now: dict[bytes, bytes] = {}
    durable: dict[bytes, bytes] = {}
    sealed: list[tuple[Group, dict[bytes, bytes]]] = []
    with quick_directory() as directory:
        state = opened_state(directory)
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
                state = opened_state(directory)
                now, sealed = dict(durable), []
            assert state.get("queue", key) == now.get(key)
            host = hosts[which % 2]
            wanted = sorted(pair for pair in now.items() if pair[0].startswith(host))
            assert state.scan("queue", host, host + b"\xff", 1_000) == wanted
            assert state.scan("queue", host, host + b"\xff", 3) == wanted[:3]
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


def test_the_open_group_says_how_much_it_changes(directory: Path, state: RocksState) -> None:
    write(state, state.seal(1))
    assert state.changed == 0
    state.put("seen", b"a", b"")
    state.put("seen", b"a", b"")
    state.delete("queue", b"b")
    assert state.changed == 2


def test_keys_are_those_of_all_groups(state: RocksState) -> None:
    for number, key in enumerate((b"a", b"b"), 1):
        state.put("seen", key, b"")
        group = state.seal(number)
        if number == 1:
            write(state, group)
    state.put("seen", b"c", b"")
    assert sorted(state.keys("seen")) == [b"a", b"b", b"c"]


def test_a_state_of_another_format_is_refused_and_left_as_it_is(directory: Path) -> None:
    state = opened_state(directory)
    state.put("meta", b"format", b"99")
    write(state, state.seal(1))
    asyncio.run(state.close())
    for _ in range(2):
        with pytest.raises(StateError, match=r"has format 99; this version of Whimbrel reads \d"):
            opened_state(directory)


def test_a_state_that_another_process_has_open_is_refused_with_what_to_do(directory: Path) -> None:
    program = (
        "import asyncio, sys\n"
        "from whimbrel.state.rocks import RocksConfig, RocksState\n"
        "state = RocksState(RocksConfig(directory=sys.argv[1]))\n"
        "asyncio.run(state.open())\n"
        "print('open', flush=True)\n"
        "sys.stdin.read()\n"
        "asyncio.run(state.close())\n"
    )
    command = [sys.executable, "-c", program, str(directory)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "open\n"
        with pytest.raises(StateError, match="is being crawled by another process; wait for it, or stop it first"):
            opened_state(directory)
        other.communicate()
    asyncio.run(opened_state(directory).close())


def test_a_path_that_cannot_be_a_database_is_named(directory: Path) -> None:
    (directory / "state").write_text("not a directory")
    with pytest.raises(StateError, match=r"state cannot be opened"):
        opened_state(directory)
