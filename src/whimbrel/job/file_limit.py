"""Open files: every connection is one, and many systems start a process with a limit of 1,024."""

import resource
from typing import Final

from whimbrel.flow import Plan
from whimbrel.job.options import OptionError
from whimbrel.job.part_name import TRANSPORT, planned

_OTHERS: Final = 256
"""Of the state, the archive, tables and their readers, bodies that went to disk."""


def allow_files(plan: Plan) -> None:
    """Have the system allow as many as the transport may open; OptionError when it does not. Without them hosts would
    be called unreachable because of us."""
    _, config = planned(plan, TRANSPORT)
    needed = max(getattr(config, "connections", 0), getattr(config, "kept", 0)) + _OTHERS
    now, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    if most != resource.RLIM_INFINITY and most < needed:
        raise OptionError(
            f"so many connections need {needed:,} open files, and this system allows a process {most:,}; ask for fewer "
            f"(--connections, transport.connections), or raise the limit: ulimit -n {needed}"
        )
    if now != resource.RLIM_INFINITY and now < needed:
        resource.setrlimit(resource.RLIMIT_NOFILE, (needed, most))
