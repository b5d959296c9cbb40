"""Open files: every connection is one, and many systems start a process with a limit of 1,024."""

import resource
from typing import Final

from whimbrel.job.configure import kept_connections, most_exchanges
from whimbrel.job.options import OptionError

_OTHERS: Final = 256
"""Of the state, the archive, tables and their readers, bodies that went to disk."""


def allow_files(connections: int) -> None:
    """Have the system allow what so many connections need; OptionError when it does not. Without it hosts would be
    called unreachable because of us."""
    needed = _needed(connections)
    now, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    if most not in (resource.RLIM_INFINITY, -1) and most < needed:
        advice = "ask for fewer connections, or raise the limit" if most >= _needed(1) else "raise the limit"
        raise OptionError(
            f"--connections {connections} needs {needed:,} open files, and this system allows a process {most:,}; "
            f"{advice}: ulimit -n {needed}"
        )
    if now != resource.RLIM_INFINITY and now < needed:
        resource.setrlimit(resource.RLIMIT_NOFILE, (needed, most))


def _needed(connections: int) -> int:
    return max(most_exchanges(connections), kept_connections(connections)) + _OTHERS
