"""A slot moves from one crawl to another: nothing is left behind, nothing has changed, and the crawl goes on."""

import tracemalloc
import zlib
from collections.abc import Iterator
from pathlib import Path
from random import Random

import msgspec
import pytest
import zstandard

from tests.frontier.rig import Rig, qualified, quick_directory, url_of
from whimbrel.frontier.crowd import Crowd, remember
from whimbrel.frontier.option import FrontierConfig, GateConfig
from whimbrel.state.api import SLOT_SPACES, SPACES
from whimbrel.state.slot import SlotDamaged, export_slot, read_chunk
from whimbrel.visit import Visit, VisitResult

GOOD = VisitResult(elapsed_s=0.1, status=200, bytes=1_000)
DEAD = VisitResult(elapsed_s=1.0, trouble="timeout", connected=False)
ROBOTS = "User-agent: *\nDisallow: /no/\n"
Pairs = dict[str, dict[bytes, bytes]]


@pytest.fixture
def directory() -> Iterator[Path]:
    with quick_directory() as found:
        yield found


def another(directory: Path, secret_of: Path | None = None) -> Rig:
    """A crawl with the same secret as another one."""
    directory.mkdir()
    if secret_of is not None:
        (directory / "secret").write_bytes((secret_of / "secret").read_bytes())
    return Rig(directory, FrontierConfig(park_after=2, max_queries=50), GateConfig(delay_s=0.0))


def half_done(rig: Rig, hosts: int = 25, seed: int = 1) -> list[str]:
    """Queues, hosts that are parked, URLs to be tried again, robots.txt, query counts, known payloads, crowds; the URLs
    that had their final outcome."""
    dice, done = Random(seed), []  # noqa: S311
    for at in range(hosts):
        for page in range(dice.randrange(1, 12)):
            rig.add(f"http://h{at}.example/{dice.choice(['', 'no/', '?q='])}{page}")
        remember(rig.state, f"192.0.2.{at}", Crowd(cap=20, domains=51))
    rig.qualify(robots=ROBOTS)
    for _ in range(hosts * 3):
        visit = rig.next(within_s=5.0)
        if visit is None:
            break
        kind = dice.random()
        if kind < 0.3 and visit.address:
            rig.frontier.retry(visit, DEAD, 30.0)
        else:
            rig.frontier.finish(visit, GOOD)
            done.append(visit.url.text)
        digest = dice.randbytes(20)
        key = (int.from_bytes(digest[:8], "big") % 1024).to_bytes(2, "big") + digest[:16]
        rig.state.put("content", key, b"first")
    rig.commit()
    rig.crash()
    return done


def all_pairs(rig: Rig) -> Pairs:
    rig.frontier.flush()
    return {space: dict(rig.state.pairs(space, b"", b"\xff" * 30, 10**9)) for space in SPACES if space != "meta"}


def of_slot(pairs: Pairs, slot: int) -> Pairs:
    start = slot.to_bytes(2, "big")
    return {space: {k: v for k, v in pairs[space].items() if k.startswith(start)} for space in SLOT_SPACES}


def move(source: Rig, target: Rig, slot: int, most: int = 50) -> int:
    """Export, delete and import, with commits in between; the bytes that went."""
    size = 0
    chunks = [*source.frontier.transfer.export(slot)]
    for chunk in chunks:
        size += len(chunk)
        target.frontier.transfer.take_in(chunk)
        target.commit()
    while source.frontier.transfer.delete(slot, most):
        source.commit()
    return size


def rest_of(rig: Rig) -> list[str]:
    """Visit whatever is left; every URL, however its visit ended."""
    found: list[str] = []
    while not rig.frontier.empty:
        visit = rig.next()
        while (due := rig.frontier.take_host()) is not None:
            rig.frontier.qualified(due.host, qualified(rig.clock, "192.0.2.1", robots=ROBOTS))
        if visit is not None:
            rig.frontier.finish(visit, GOOD)
            found.append(visit.url.text)
    return sorted(found)


def taken(rig: Rig) -> Visit:
    visit = rig.next()
    assert visit is not None
    return visit


def test_a_slot_is_exported_deleted_and_imported_elsewhere_with_nothing_left_and_nothing_changed(
    directory: Path,
) -> None:
    source = another(directory / "source")
    half_done(source)
    target = another(directory / "target", directory / "source")
    target.commit()
    before, nothing = all_pairs(source), all_pairs(target)
    assert all(before.values()), "there is some of everything"
    slots = source.frontier.transfer.slots()
    assert len(slots) > 30, "payloads are everywhere"
    for slot in slots:
        move(source, target, slot)
        there, here = all_pairs(target), all_pairs(source)
        assert of_slot(there, slot) == of_slot(before, slot)
        assert not any(of_slot(here, slot).values())
    assert all_pairs(target) == before, "also what is derived"
    assert not any(all_pairs(source).values())
    assert source.frontier.empty
    assert source.frontier.transfer.slots() == []
    assert (source.frontier.queued, source.frontier.hosts) == (0, 0)
    for slot in slots:
        move(target, source, slot)
    assert all_pairs(source) == before
    assert all_pairs(target) == nothing
    source.close()
    target.close()


def test_half_of_a_crawl_goes_on_elsewhere_and_both_end_as_one_would_have(directory: Path) -> None:
    whole = another(directory / "whole")
    done = half_done(whole)
    expected = rest_of(whole)
    source = another(directory / "source", directory / "whole")
    assert half_done(source) == done
    target = another(directory / "target", directory / "whole")
    slots = source.frontier.transfer.slots()
    queued = source.frontier.queued
    for slot in slots[::2]:
        move(source, target, slot)
    assert source.frontier.queued + target.frontier.queued == queued
    assert target.frontier.queued
    source.commit()
    target.commit()
    target.crash()
    assert sorted(rest_of(source) + rest_of(target)) == expected
    for rig in (whole, source, target):
        rig.close()


def test_what_is_seen_and_counted_goes_along(directory: Path) -> None:
    source = another(directory / "source")
    for number in range(49):
        source.add(f"http://a.example/?q={number}")
    source.frontier.remember(url_of("http://a.example/cut"))
    target = another(directory / "target", directory / "source")
    for slot in source.frontier.transfer.slots():
        move(source, target, slot)
    assert target.add("http://a.example/?q=7") == "seen"
    assert target.add("http://a.example/cut") == "seen"
    assert [target.add(f"http://a.example/?q={number}") for number in (50, 51)] == ["", "too-many-queries"]
    assert target.frontier.find(url_of("http://a.example/?q=7")) is not None
    source.close()
    target.close()


def test_an_import_that_is_repeated_or_interrupted_changes_nothing_and_is_not_used(directory: Path) -> None:
    source = another(directory / "source")
    half_done(source, hosts=1)
    (slot,) = [one for one in source.frontier.transfer.slots() if source.state.pairs("hosts", *ends(one), 1)]
    chunks = [*source.frontier.transfer.export(slot)]
    target = another(directory / "target", directory / "source")
    for chunk in chunks[:-1] * 2:
        target.frontier.transfer.take_in(chunk)
        target.commit()
    target.crash(down_s=1e6)
    assert target.next() is None, "the last chunk is missing"
    assert target.frontier.empty, "a crawl does not wait for what it cannot visit"
    for chunk in chunks:
        target.frontier.transfer.take_in(chunk)
    assert target.frontier.queued == source.frontier.queued
    assert rest_of(target) == rest_of(source)
    source.close()
    target.close()


def test_a_deletion_that_is_interrupted_leaves_nothing_to_visit(directory: Path) -> None:
    rig = another(directory / "crawl")
    half_done(rig)
    for slot in rig.frontier.transfer.slots():
        assert rig.frontier.transfer.delete(slot, 10) <= 10
        if rig.state.pairs("hosts", *ends(slot), 1):
            rig.frontier.transfer.delete(slot, 10_000)
    rig.commit()
    rig.crash(down_s=1e6)
    assert rig.take() is None
    assert rig.frontier.take_host() is None
    assert (rig.frontier.queued, rig.frontier.hosts, rig.frontier.empty) == (0, 0, True)
    rig.close()


def test_hosts_that_a_deletion_has_not_reached_are_counted_and_no_others(directory: Path) -> None:
    rig = another(directory / "crawl")
    for page in range(4):
        rig.add(f"http://a.example/{page}")
        rig.add(f"https://a.example/{page}")  # another host of the same slot
    (slot,) = rig.frontier.transfer.slots()
    assert rig.frontier.transfer.delete(slot, 1) == 1
    rig.commit()
    rig.crash()
    assert (rig.frontier.queued, rig.frontier.hosts) == (4, 1)
    rig.close()


@pytest.mark.parametrize("left_out", [0, 1, 2])
def test_an_import_with_a_chunk_left_out_is_refused(directory: Path, left_out: int) -> None:
    source = another(directory / "source")
    half_done(source, hosts=1)
    (slot,) = [one for one in source.frontier.transfer.slots() if source.state.pairs("hosts", *ends(one), 1)]
    chunks = [*source.frontier.transfer.export(slot)]
    target = another(directory / "target", directory / "source")
    for chunk in chunks[:left_out]:
        target.frontier.transfer.take_in(chunk)
    for chunk in chunks[left_out + 1 :]:
        with pytest.raises(SlotDamaged, match=f"chunk {left_out} is missing"):
            target.frontier.transfer.take_in(chunk)
    for chunk in chunks:
        target.frontier.transfer.take_in(chunk)
    assert rest_of(target) == rest_of(source)
    source.close()
    target.close()


def test_damaged_and_strange_chunks_are_refused_and_nothing_changes(directory: Path) -> None:
    source = another(directory / "source")
    half_done(source)
    target = another(directory / "target", directory / "source")
    before = all_pairs(target)
    chunk = next(iter(export_slot(source.state, source.frontier.transfer.slots()[0])))
    for broken in (b"", chunk[:-1], chunk[:20] + b"?" + chunk[21:], b"WhimSlt9" + chunk[8:]):
        with pytest.raises(SlotDamaged, match="damaged"):
            target.frontier.transfer.take_in(broken)
    assert all_pairs(target) == before
    source.close()
    target.close()


@pytest.mark.parametrize(
    "contents",
    [
        msgspec.msgpack.encode([2, -1, 0, "hosts", [], b"12345678"]),
        msgspec.msgpack.encode([2, 1_024, 0, "hosts", [], b"12345678"]),
        msgspec.msgpack.encode([2, 1, -1, "hosts", [], b"12345678"]),
        msgspec.msgpack.encode([2, 1, 0, "hosts", [], b"12345678"]).replace(b"hosts", b"host\xff"),
        bytes(400_000_000),
    ],
    ids=["negative", "beyond", "number", "text", "bomb"],
)
def test_a_chunk_that_nobody_would_write_is_refused_in_little_memory(contents: bytes) -> None:
    body = zstandard.ZstdCompressor().compress(contents)
    chunk = b"WhimSlt1" + zlib.crc32(body).to_bytes(4, "big") + body
    tracemalloc.start()
    try:
        with pytest.raises(SlotDamaged, match="damaged"):
            read_chunk(chunk)
        assert tracemalloc.get_traced_memory()[1] < 100_000_000
    finally:
        tracemalloc.stop()


def test_a_slot_of_a_crawl_with_another_secret_is_refused_and_nothing_changes(directory: Path) -> None:
    source, target = another(directory / "source"), another(directory / "target")
    half_done(source)
    before = all_pairs(target)
    for slot in source.frontier.transfer.slots():
        for chunk in source.frontier.transfer.export(slot):
            with pytest.raises(SlotDamaged, match="with another secret"):
                target.frontier.transfer.take_in(chunk)
    assert all_pairs(target) == before
    source.close()
    target.close()


def test_a_slot_that_is_being_visited_stays(directory: Path) -> None:
    rig = another(directory / "crawl")
    rig.add("http://a.example/")
    rig.qualify()
    (slot,) = rig.frontier.transfer.slots()
    chunks = [*rig.frontier.transfer.export(slot)]
    visit = taken(rig)
    transfer = rig.frontier.transfer
    acts = (lambda: transfer.export(slot), lambda: transfer.delete(slot, 1), lambda: transfer.take_in(chunks[0]))
    for act in acts:
        with pytest.raises(AssertionError, match="is being visited"):
            act()
    rig.frontier.abandon(visit)
    assert rig.frontier.transfer.delete(slot, 1)
    rig.close()


def ends(slot: int) -> tuple[bytes, bytes]:
    return slot.to_bytes(2, "big"), (slot + 1).to_bytes(2, "big")
