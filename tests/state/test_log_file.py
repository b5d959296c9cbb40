"""Damage of RocksDB's logs is told from what a crash has torn off."""

import asyncio
from pathlib import Path

import pytest

from whimbrel.state.api import StateDamaged
from whimbrel.state.log_file import log_damage
from whimbrel.state.option import RocksConfig
from whimbrel.state.reader import StateReader
from whimbrel.state.rocks import RocksState


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A database that was closed, whose log is that of a process that was killed."""
    return asyncio.run(_written(tmp_path))


async def _written(tmp_path: Path) -> Path:
    state = RocksState(RocksConfig(directory=str(tmp_path)))
    await state.open()
    for number in range(1, 6):
        state.put("urls", b"\0\0key %d" % number, b"value" * 1_500)
        state.write(state.seal(number))
    logs = {path: path.read_bytes() for path in (tmp_path / "state").glob("*.log")}
    await state.close()
    for path, data in logs.items():
        path.write_bytes(data)
    return tmp_path / "state"


def _logs(folder: Path) -> list[Path]:
    return sorted([*folder.glob("MANIFEST-*"), *(path for path in folder.glob("*.log") if path.stat().st_size)])


def test_a_log_that_was_cut_anywhere_is_not_damaged(folder: Path) -> None:
    assert list(log_damage(folder)) == []
    for path in _logs(folder):
        data = path.read_bytes()
        for length in (*range(0, len(data), 499), len(data) - 1):
            path.write_bytes(data[:length])
            assert list(log_damage(folder)) == [], (path.name, length)
        path.write_bytes(data)


def test_a_byte_that_changed_in_a_log_is_found(folder: Path) -> None:
    found = {path.suffix for path in _logs(folder)}
    assert found == {"", ".log"}
    for path in _logs(folder):
        data = path.read_bytes()
        for at in range(0, len(data), 1 if len(data) < 4_096 else 4_001):
            path.write_bytes(data[:at] + bytes([data[at] ^ 0x81]) + data[at + 1 :])
            assert [damage.file for damage in log_damage(folder)] == [path.name], at
        path.write_bytes(data)


def test_a_state_whose_list_of_files_is_damaged_is_not_opened_and_not_changed(folder: Path) -> None:
    (manifest,) = folder.glob("MANIFEST-*")
    data = bytearray(manifest.read_bytes())
    data[5] ^= 0x40  # The length of its first record: RocksDB would take all of it for torn off.
    manifest.write_bytes(data)
    before = sorted(path.name for path in folder.iterdir())
    with pytest.raises(StateDamaged, match="MANIFEST-"):
        asyncio.run(RocksState(RocksConfig(directory=str(folder.parent))).open())
    with pytest.raises(StateDamaged, match="MANIFEST-"), StateReader(folder.parent):
        pass
    assert sorted(path.name for path in folder.iterdir()) == before
