"""Look for damage in the state of a crawl: its database, its secret, and whether it is of the last commit."""

from collections import deque
from collections.abc import Iterator
from pathlib import Path

from whimbrel.archive.verify import Problem
from whimbrel.commit.committed import NAME, Committed, NotACrawl, read_committed
from whimbrel.commit.recovery import last_commit
from whimbrel.error import UsageError, WhimbrelError
from whimbrel.state.api import SPACES, StateDamaged, StateError, StoredPairs
from whimbrel.state.log_file import log_damage
from whimbrel.state.reader import StateReader
from whimbrel.state.rocks import RocksState
from whimbrel.state.secret import NAME as SECRET
from whimbrel.state.secret import check_secret


def verify_state(directory: Path, committed: Committed) -> Iterator[Problem]:
    """Problems of the state of a crawl that does not run. Every record of its logs and every pair is read: RocksDB has
    check sums of all that it needs for an answer. A state of another version is not read, and no problem."""
    folder = RocksState.folder
    for damage in log_damage(directory / folder):
        yield Problem(f"{folder}/{damage.file}", damage.offset, damage.what)
    try:
        with StateReader(directory) as state:
            for space in SPACES:
                deque(state.pairs(space), maxlen=0)
            yield from _other_commit(state, committed)
            yield from _secret_problems(directory, state)
    except UsageError:  # Of an earlier or a later version.
        return
    except StateError as error:
        yield Problem(folder, 0, str(error))


def durable_commit(directory: Path, published: Committed) -> Committed:
    """The last commit of a crawl that does not run: the state's, where a crash came before it was published. Else the
    published one, also where the state cannot be read."""
    if not _has_logs(directory):
        return published
    try:
        with StateReader(directory) as state:
            stored = last_commit(state.get)
    except WhimbrelError:
        return published
    return stored if stored.number > published.number else published


def _other_commit(state: StoredPairs, committed: Committed) -> Iterator[Problem]:
    stored = last_commit(state.get)
    if stored.number < committed.number:
        yield Problem(RocksState.folder, 0, _older(stored, committed))
    elif stored.number == committed.number and stored != committed:
        yield Problem(NAME, 0, f"differs from what the state has of commit {stored.number:,}")


def _secret_problems(directory: Path, state: StoredPairs) -> Iterator[Problem]:
    try:
        check_secret(directory, state)
    except StateError as error:
        yield Problem(SECRET, 0, str(error))


def _has_logs(directory: Path) -> bool:
    """Whether the database was not closed properly: else its logs are empty."""
    return any(path.stat().st_size for path in (directory / RocksState.folder).glob("*.log"))


def _older(stored: Committed, committed: Committed) -> str:
    return (
        f"ends with commit {stored.number:,}, but commit {committed.number:,} was published: the end of its log is "
        "damaged or missing"
    )


def check_not_older(directory: Path, state: StoredPairs, published: Committed) -> None:
    """StateDamaged when the state has lost commits: RocksDB ends at the first damage of its log without a word."""
    stored = last_commit(state.get)
    if stored.number < published.number:
        raise StateDamaged(
            f"{directory / RocksState.folder} {_older(stored, published)}. Nothing was changed; bring back the whole "
            "directory from a copy"
        )


def check_state(directory: Path) -> None:
    """`check_not_older` of a state that is about to be opened to write, which would drop what is behind the damage for
    good. Logs are empty after a proper end: then there is nothing to do. Without a published commit nothing is known to
    be lost."""
    if not _has_logs(directory):
        return
    try:
        published = read_committed(directory)
    except NotACrawl:
        return
    with StateReader(directory) as state:
        check_not_older(directory, state, published)
