"""Commits on real files: which digests they list, and where a visit's content is."""

from pathlib import Path

from tests.commit.bench import Bench
from tests.commit.test_digest import sha256


def test_a_segment_is_listed_with_its_digest_by_the_commit_after_the_one_that_sealed_it(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    first, second, third = (bench.commit() for _ in range(3))
    names = list(third.archive())
    assert (first.digests, list(second.digests)) == ({}, [])
    assert {name: digest for name, digest in third.digests.items() if name in names} == {
        names[0]: sha256(tmp_path / names[0])
    }
    bench.close()


def test_digests_that_are_missing_after_a_restart_are_listed_by_the_second_commit(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    for _ in range(4):
        bench.commit()
    last = bench.finish()
    bench.close()
    assert last.digests
    bench = Bench(tmp_path, forget_digests=True)
    assert bench.commit().digests == {}
    assert bench.commit().digests.items() >= last.digests.items()
    bench.close()


def test_the_open_segment_has_no_digest_also_when_it_was_sealed_before(tmp_path: Path) -> None:
    bench = Bench(tmp_path, segment_bytes=10**9)
    bench.commit()
    bench.committer.end_segment()
    done = bench.finish()
    (name,) = done.archive()
    assert done.digests[name] == sha256(tmp_path / name)
    bench.close()
    # It died before the segment's index was written, and so another run goes on in it.
    bench = Bench(tmp_path, segment_bytes=10**9)
    again = bench.commit()
    assert again.archive()[name] > done.archive()[name]
    assert name not in again.digests
    bench.committer.end_segment()
    assert bench.finish().digests[name] == sha256(tmp_path / name)
    bench.close()
