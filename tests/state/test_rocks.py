"""The state: groups, scans through them, and what keeps two crawls apart."""

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.frontier.rig import opened_state
from whimbrel.state.api import StateDamaged, StateError
from whimbrel.state.group import Group, merged
from whimbrel.state.rocks import RocksState

KEYS = st.binary(min_size=1, max_size=3)
CHANGES = st.dictionaries(KEYS, st.none() | st.binary(max_size=2), max_size=12)


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


def test_a_state_of_another_format_is_refused_and_left_as_it_is(directory: Path) -> None:
    state = opened_state(directory)
    state.put("meta", b"format", b"99")
    write(state, state.seal(1))
    asyncio.run(state.close())
    for _ in range(2):
        with pytest.raises(StateError, match=r"has format 99; this version of Whimbrel reads \d"):
            opened_state(directory)


def test_damage_in_the_middle_of_the_state_is_told_and_does_not_pass_for_its_end(directory: Path) -> None:
    state = opened_state(directory)
    keys = [b"%08d" % number for number in range(20_000)]
    for key in keys:
        state.put("urls", key, key * 6)
    write(state, state.seal(1))
    asyncio.run(state.close())
    asyncio.run(opened_state(directory).close())  # What was in the log is in a table now.
    table = max((directory / "state").glob("*.sst"), key=lambda path: path.stat().st_size)
    data = bytearray(table.read_bytes())
    middle = len(data) // 2
    data[middle : middle + 3000] = b"?" * 3000
    table.write_bytes(data)
    state = opened_state(directory)
    with pytest.raises(StateDamaged, match="cannot be read"):
        state.pairs("urls", b"", b"\xff", 20_000)
    with pytest.raises(StateDamaged, match="cannot be read"):
        list(state.keys("urls"))
    with pytest.raises(StateDamaged, match="cannot be read"):
        [state.get("urls", key) for key in keys]
    asyncio.run(state.close())


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
        with pytest.raises(StateError, match=r"another process works on .*; wait for it to end, or stop"):
            opened_state(directory)
        other.communicate()
    asyncio.run(opened_state(directory).close())


def test_a_path_that_cannot_be_a_database_is_named(directory: Path) -> None:
    (directory / "state").write_text("not a directory")
    with pytest.raises(StateError, match=r"state cannot be opened"):
        opened_state(directory)
