"""A state of format 1 becomes one of format 2, killed on the way too."""

import asyncio
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from random import Random

import msgspec
import pyarrow.parquet as pq
import pytest

from tests.commit.format_1 import Pairs, all_pairs, build, empty, unpack
from tests.frontier.rig import opened_state
from whimbrel.commit.crash import UPGRADE_POINTS, Crash
from whimbrel.commit.upgrade import NEW, OLD, Upgraded, upgrade
from whimbrel.error import Damaged
from whimbrel.facts.identity import url_id
from whimbrel.frontier.entry import decode_entry, decode_url
from whimbrel.frontier.host import decode_host
from whimbrel.frontier.meta import decode_slot
from whimbrel.frontier.order import is_waiting, retry_key
from whimbrel.state.api import StateDamaged, StateLocked, StateTooNew, StateTooOld

PROGRAM = (
    "import sys\n"
    "from pathlib import Path\n"
    "from whimbrel.commit.crash import Crash\n"
    "from whimbrel.commit.upgrade import upgrade\n"
    "upgrade(Path(sys.argv[1]), by_domain=False, say=lambda _: print('begun', flush=True), crash=Crash(sys.argv[2]))\n"
)


def upgraded(directory: Path) -> Upgraded | None:
    return upgrade(directory, by_domain=False, say=lambda _: None, crash=Crash())


def in_process(directory: Path, crash: str = "") -> "subprocess.Popen[bytes]":
    return subprocess.Popen([sys.executable, "-c", PROGRAM, str(directory), crash], stdout=subprocess.PIPE)


def assert_consistent(old: Pairs, new: Pairs) -> None:
    """Every promise of format 2, computed from all pairs."""
    assert {key[2:] for key in new["urls"]} == {*old["seen"]}
    assert {key[2:]: value for key, value in new["counts"].items()} == old["counts"]
    assert {key[2:]: msgspec.msgpack.decode(value) for key, value in new["content"].items()} == {
        key: [url, at_s, url_id(url)]
        for key, (url, at_s) in ((key, msgspec.msgpack.decode(value)) for key, value in old["content"].items())
    }
    assert new["robots"] == old["robots"]
    assert {*new["due"]} == {*old["due"]}
    assert {*new["due"]} == {decode_host(value).due for value in new["hosts"].values()} - {b""}
    assert {*new["retry"]} == {retry_key(key) for key in new["queue"] if is_waiting(key)}
    assert len(new["retry"]) == len(old["retry"])
    assert sorted(new["queue"].values()) == sorted([*old["queue"].values(), *old["retry"].values()])
    entries = {record.entry for record in map(decode_url, new["urls"].values())} - {b""}
    assert entries == {*new["queue"]}
    for key, value in new["hosts"].items():
        record = decode_host(value)
        queued = [entry for entry in new["queue"] if entry.startswith(key)]
        assert (record.queued, record.waiting) == (len(queued), sum(map(is_waiting, queued)))
        assert record.name.slot == int.from_bytes(key[:2], "big")
    slots = [decode_slot(value) for value in new["slots"].values()]
    _, queued_in_all, taken, hosts, *_ = msgspec.msgpack.decode(old["meta"][b"frontier"])
    assert sum(slot.queued for slot in slots) == queued_in_all == len(new["queue"])
    assert (sum(slot.taken for slot in slots), sum(slot.hosts for slot in slots)) == (taken, hosts)
    assert (new["meta"][b"format"], new["meta"][b"secret"]) == (b"2", old["meta"][b"secret"])
    assert new["meta"][b"commit"] == old["meta"][b"commit"]


def test_a_stored_crawl_keeps_all_it_knew_under_keys_that_begin_with_slots(tmp_path: Path) -> None:
    directory = unpack(tmp_path)
    old = all_pairs(directory / "state")
    assert all(old[space] for space in ("queue", "retry", "robots", "content", "counts", "due")), "there is some of all"
    said: list[str] = []
    done = upgrade(directory, by_domain=False, say=said.append, crash=Crash())
    assert done == Upgraded(len(old["seen"]), len(old["seen"]))
    assert "by an earlier version" in said[0]
    new = all_pairs(directory / "state")
    assert_consistent(old, new)
    assert (directory / "secret").read_text() == old["meta"][b"secret"].hex() + "\n"
    assert not (directory / OLD).exists()
    assert not (directory / NEW).exists()
    assert upgraded(directory) is None
    assert all_pairs(directory / "state") == new
    for key, value in new["urls"].items():
        record = decode_url(value)
        if record.entry:
            assert decode_entry(new["queue"][record.entry]).url
            assert record.entry[:2] == key[:2]


def test_a_state_of_format_1_is_opened_by_resume_only_and_one_that_is_in_use_not_at_all(tmp_path: Path) -> None:
    directory = unpack(tmp_path)
    before = all_pairs(directory / "state")
    with pytest.raises(StateTooOld, match=f"`whimbrel resume {directory}` brings it to format 2"):
        opened_state(directory)
    assert {space: pairs for space, pairs in all_pairs(directory / "state").items() if pairs} == {
        space: pairs for space, pairs in before.items() if pairs
    }


def test_a_state_that_another_process_upgrades_is_left_alone(tmp_path: Path) -> None:
    directory = build(tmp_path / "crawl", hosts=20, per_host=100, visited=20_000)
    with in_process(directory) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"begun\n"
        process.send_signal(signal.SIGSTOP)
        with pytest.raises(StateLocked, match="another process works on"):
            upgraded(directory)
        process.send_signal(signal.SIGCONT)
        assert process.wait(60) == 0


def test_a_newer_format_is_refused_and_nothing_is_changed(tmp_path: Path) -> None:
    directory = tmp_path / "crawl"
    state = opened_state(directory)
    state.put("meta", b"format", b"3")
    state.write(state.seal(1))
    asyncio.run(state.close())
    before = all_pairs(directory / "state")
    assert upgraded(directory) is None
    with pytest.raises(StateTooNew, match="has format 3; this version of Whimbrel reads 2"):
        opened_state(directory)
    assert all_pairs(directory / "state") == before


def test_a_crawl_that_had_committed_nothing_becomes_an_empty_one(tmp_path: Path) -> None:
    directory = empty(tmp_path / "crawl")
    assert upgraded(directory) == Upgraded(0, 0)
    new = all_pairs(directory / "state")
    assert {space for space, pairs in new.items() if pairs} == {"meta"}
    assert {*new["meta"]} == {b"format", b"secret"}


@pytest.mark.parametrize("point", UPGRADE_POINTS)
def test_an_upgrade_killed_at_a_crash_point_is_finished_by_the_next_start(tmp_path: Path, point: str) -> None:
    directory = unpack(tmp_path)
    old = all_pairs(directory / "state")
    with in_process(directory, point) as process:
        assert process.wait(60) == -signal.SIGKILL
    upgraded(directory)
    assert_consistent(old, all_pairs(directory / "state"))
    assert sorted(path.name for path in directory.glob("state*")) == ["state"]


@pytest.mark.parametrize("point", ["", *UPGRADE_POINTS])
def test_a_state_that_is_a_link_to_another_disk_is_upgraded_there(tmp_path: Path, point: str) -> None:
    directory = unpack(tmp_path)
    old = all_pairs(directory / "state")
    other = tmp_path / "disk" / "of-this-crawl"
    other.parent.mkdir()
    (directory / "state").rename(other)
    (directory / "state").symlink_to(other)
    with in_process(directory, point) as process:
        assert process.wait(60) == (-signal.SIGKILL if point else 0)
    upgraded(directory)
    assert (directory / "state").readlink() == other
    assert_consistent(old, all_pairs(other))
    assert [path.name for path in other.parent.iterdir()] == [other.name]
    assert sorted(path.name for path in directory.glob("state*")) == ["state"]


def made_by_an_earlier_version(directory: Path) -> None:
    """What it does where it finds no state: an empty one."""
    empty(directory / "elsewhere")
    (directory / "elsewhere" / "state").rename(directory / "state")


def made_by_this_version(directory: Path) -> None:
    asyncio.run(opened_state(directory).close())


def made_by_hand(directory: Path) -> None:
    (directory / "state").mkdir()


@pytest.mark.parametrize("made", [made_by_an_earlier_version, made_by_this_version, made_by_hand])
def test_a_state_that_somebody_put_between_two_names_costs_neither_the_old_one_nor_the_new_one(
    tmp_path: Path, made: Callable[[Path], None]
) -> None:
    directory = unpack(tmp_path)
    old = all_pairs(directory / "state")
    with in_process(directory, "upgrade-renamed") as process:
        assert process.wait(60) == -signal.SIGKILL
    made(directory)
    with pytest.raises(StateDamaged, match="move it out of the way, then resume again"):
        upgraded(directory)
    assert all_pairs(directory / OLD) == old
    (directory / "state").rename(tmp_path / "away")
    upgraded(directory)
    assert_consistent(old, all_pairs(directory / "state"))


def test_an_old_state_beside_one_of_format_1_is_not_taken_for_rubbish(tmp_path: Path) -> None:
    directory = unpack(tmp_path)
    shutil.copytree(directory / "state", directory / OLD)
    with pytest.raises(StateDamaged, match="Nothing was changed"):
        upgraded(directory)
    assert all_pairs(directory / OLD) == all_pairs(directory / "state")


def killed(directory: Path, crash: str, after_s: float) -> bool:
    """Begin or go on with an upgrade, and kill it after a time, or at a crash point; false when it was done before."""
    with in_process(directory, crash) as process:
        assert process.stdout is not None
        process.stdout.readline()
        if not crash:
            time.sleep(after_s)
            process.kill()
        return process.wait(120) == -signal.SIGKILL


@pytest.mark.parametrize(
    ("kills", "visited"), [(4, 15_000), pytest.param(20, 60_000, marks=pytest.mark.long)], ids=["few", "twenty"]
)
def test_an_upgrade_killed_again_and_again_ends_as_if_it_had_not_been(tmp_path: Path, kills: int, visited: int) -> None:
    pristine = build(tmp_path / "pristine", hosts=50, per_host=visited // 200, visited=visited)
    known = len(all_pairs(pristine / "state")["seen"])
    shutil.copytree(pristine, tmp_path / "undisturbed")
    began_s = time.monotonic()
    upgraded(tmp_path / "undisturbed")
    whole_s = time.monotonic() - began_s
    expected = all_pairs(tmp_path / "undisturbed" / "state")
    assert len(expected["urls"]) == known
    dice, done, turn = Random(3), 0, 0  # noqa: S311
    while done < kills:
        directory, turn = tmp_path / f"crawl-{turn}", turn + 1
        shutil.copytree(pristine, directory)
        for _ in range(4):
            crash = dice.choice(["", "", *UPGRADE_POINTS])
            done += killed(directory, crash, dice.uniform(0.0, 0.7 * whole_s))
        upgraded(directory)
        assert all_pairs(directory / "state") == expected
        assert sorted(path.name for path in directory.glob("state*")) == ["state"]
        shutil.rmtree(directory)


@pytest.mark.parametrize("harm", ["cut", "gone", "flipped"])
def test_a_damaged_table_stops_the_upgrade_and_costs_nothing(tmp_path: Path, harm: str) -> None:
    crawl = unpack(tmp_path)
    table = min((crawl / "facts").glob("fetches-*.parquet"))
    whole = table.read_bytes()
    before = all_pairs(crawl / "state")
    if harm == "gone":
        table.unlink()
    elif harm == "cut":
        table.write_bytes(whole[: len(whole) // 2])
    else:
        table.write_bytes(whole[:200] + bytes(byte ^ 0xFF for byte in whole[200:400]) + whole[400:])
    with pytest.raises(Damaged):
        upgraded(crawl)
    assert all_pairs(crawl / "state") == before
    table.write_bytes(whole)
    assert upgraded(crawl) is not None


def test_an_upgrade_that_finds_fewer_urls_than_were_known_is_refused(tmp_path: Path) -> None:
    crawl = unpack(tmp_path)
    table = min((crawl / "facts").glob("fetches-*.parquet"))
    rows = pq.read_table(table)
    pq.write_table(rows.slice(0, rows.num_rows - 5), table)
    with pytest.raises(StateDamaged, match="a table is damaged"):
        upgraded(crawl)
    assert "seen" in all_pairs(crawl / "state"), "the old state is where it was"
