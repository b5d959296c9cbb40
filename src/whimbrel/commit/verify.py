"""Look for damage in the files that a commit lists: are they the ones that were written."""

from collections.abc import Iterator
from pathlib import Path

from whimbrel.archive.verify import Problem
from whimbrel.commit.committed import Committed
from whimbrel.commit.digest import file_digest


def verify_files(directory: Path, committed: Committed) -> Iterator[Problem]:
    """Problems of sealed files: a digest that differs; Parquet whose rows are not those of its commits. Segments that
    are missing or too short are for the archive to name. That a digest is missing is no damage: the next run lists
    it."""
    for name, digest in committed.digests.items():
        yield from _digest_problems(directory, committed, name, digest)
    for name in committed.parquet:
        yield from _row_problems(directory / name, name)


def _digest_problems(directory: Path, committed: Committed, name: str, digest: str) -> Iterator[Problem]:
    path = directory / name
    try:
        found = file_digest(path, committed.files.get(name, path.stat().st_size))
    except FileNotFoundError:
        if name in committed.parquet:
            yield Problem(name, 0, "missing")
    except OSError as error:
        yield Problem(name, 0, f"cannot be read: {error.strerror}")
    else:
        if found != digest:
            yield Problem(name, 0, f"is {found}; commit {committed.number} lists {digest}")


def _row_problems(path: Path, name: str) -> Iterator[Problem]:
    from whimbrel.facts.parquet import row_count_problem  # pyarrow: not at the start

    what = row_count_problem(path) if path.exists() else ""
    if what:
        yield Problem(name, 0, what)
