"""What `verify` cannot vouch for, so that it does not call it intact."""

from pathlib import Path

import msgspec

from whimbrel.commit.committed import Committed
from whimbrel.error import UsageError
from whimbrel.offline.verify import is_running
from whimbrel.state.api import StateError
from whimbrel.state.reader import StateReader


class Unchecked(msgspec.Struct, frozen=True):
    state: str = ""
    """Why the state was not read; empty when it was."""
    bare_parquet: int = 0
    """Parquet files of which no commit has a digest."""

    def sentences(self) -> list[str]:
        said = [self.state] if self.state else []
        if self.bare_parquet:
            said.append(
                f"{self.bare_parquet:,} Parquet files have no digest, since an earlier version wrote them: they can be "
                "read, but nothing tells whether they are as they were written."
            )
        return said


def unchecked_parts(directory: Path, committed: Committed) -> Unchecked:
    bare = sum(name not in committed.digests for name in committed.parquet)
    return Unchecked(_unread_state(directory), bare)


def _unread_state(directory: Path) -> str:
    if is_running(directory):
        return "The crawl runs: its state was not checked. Verify it again when the crawl has ended."
    try:
        with StateReader(directory):
            return ""
    except UsageError:
        return "The state is of another version of Whimbrel: it was not checked."
    except StateError:
        return ""  # A problem that is named.
