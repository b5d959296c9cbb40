"""A thread without memory ends the process, which would wait for it for ever."""

import subprocess
import sys

SCRIPT = """
import threading
from whimbrel.cli.thread_start import end_with_threads_that_cannot_begin

class Starved(threading.Thread):
    def _bootstrap(self):
        raise MemoryError

end_with_threads_that_cannot_begin()
threading.Thread._bootstrap = Starved._bootstrap
threading.Thread(target=print).start()
"""


def test_a_thread_that_has_no_memory_to_begin_ends_the_process_with_the_cause() -> None:
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, timeout=20, check=False)
    assert done.returncode == 1
    assert done.stderr.startswith("whimbrel: this machine has no memory left, a thread could not begin")
