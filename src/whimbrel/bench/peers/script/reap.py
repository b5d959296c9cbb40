"""Run a command on one core, wait for every process it leaves behind, write what they used together.

    python reap.py RESULT.json CORE COMMAND...

A crawler may start processes that outlive their parent. As the subreaper of all of them (prctl(2)), this process
inherits and waits for each, so that RUSAGE_CHILDREN misses none. Its own costs are not counted. SIGTERM ends them all.
"""

import ctypes
import json
import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

PR_SET_CHILD_SUBREAPER = 36


def main() -> None:
    result, core, *command = sys.argv[1:]
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    if core != "any":
        os.sched_setaffinity(0, {int(core)})
    begin = time.monotonic()
    child = subprocess.Popen(command, start_new_session=True)  # noqa: S603
    signal.signal(signal.SIGTERM, lambda *_: _end(child.pid))
    child.wait()
    _wait_for_orphans()
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    found = {
        "cpu_s": used.ru_utime + used.ru_stime,
        "elapsed_s": time.monotonic() - begin,
        "largest_mb": used.ru_maxrss / 1024,
        "exit_code": child.returncode,
    }
    Path(result).write_text(json.dumps(found), encoding="ascii")


def _end(pid: int) -> None:
    """The session of the command is our own making, so its group holds nobody else's processes."""
    try:
        os.killpg(pid, signal.SIGKILL)
    except ProcessLookupError:
        return


def _wait_for_orphans() -> None:
    while True:
        try:
            os.wait()
        except ChildProcessError:
            return


if __name__ == "__main__":
    main()
