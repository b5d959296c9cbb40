"""What runs beside a crawl that is measured: nothing, a process that spins, an open dashboard, or questions in SQL."""

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Final, Protocol, Self

from whimbrel.bench.browser import Browser, NoBrowser
from whimbrel.bench.politeness.stage import StageError

_QUESTION: Final = """
    SELECT (SELECT count(*) FROM pages) AS pages,
           (SELECT count(*) FROM fetches WHERE outcome IN ('stored', 'duplicate')) AS fetched,
           (SELECT count(*) FROM links l JOIN pages p ON p.id = l.target_key) AS joined,
           (SELECT max(n) FROM (SELECT host, count(*) AS n FROM pages GROUP BY host)) AS most"""
_LOOK_S: Final = 0.1


class Observer(Protocol):
    """Something that looks at a crawl or works beside it, in turns."""

    def begin(self) -> None: ...

    def ask(self) -> None:
        """Called again and again during a turn; takes a while."""

    def end(self) -> None: ...


class NoObserver:
    def begin(self) -> None:
        """Nothing."""

    def ask(self) -> None:
        time.sleep(_LOOK_S)

    def end(self) -> None:
        """Nothing."""


class SpinningProcess(NoObserver):
    """A process that does nothing, all the time."""

    def __init__(self) -> None:
        self._process = subprocess.Popen([sys.executable, "-c", "while True: pass"], start_new_session=True)
        _put_last(self._process.pid)
        self.end()

    def begin(self) -> None:
        os.killpg(self._process.pid, signal.SIGCONT)

    def end(self) -> None:
        os.killpg(self._process.pid, signal.SIGSTOP)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()


class DashboardObserver(NoObserver):
    """A browser with the dashboard open."""

    def __init__(self, directory: Path, profile: Path, path: str) -> None:
        self._browser = Browser(directory, profile)
        try:
            self._browser.open(path)
        except NoBrowser as error:
            self._browser.close()
            raise StageError(str(error)) from error
        for pid in self._browser.pids:
            _put_last(pid)
        self.end()

    def begin(self) -> None:
        for pid in self._browser.pids:
            os.killpg(pid, signal.SIGCONT)

    def end(self) -> None:
        for pid in self._browser.pids:
            os.killpg(pid, signal.SIGSTOP)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.begin()
        self._browser.close()


class QueryObserver(NoObserver):
    """One question after the other, each in a process of its own as a user asks it."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self.answered = 0
        self.wrong: list[str] = []
        self._last: dict[str, int] = {}

    def ask(self) -> None:
        command = [sys.executable, "-m", "whimbrel", "query", str(self._directory), _QUESTION, "--format", "json"]
        with subprocess.Popen(  # noqa: S603
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
        ) as question:
            _put_last(question.pid)
            said, complaint = question.communicate()
        if question.returncode:
            self.wrong.append(f"exit code {question.returncode}: {complaint[-300:].decode(errors='replace')}")
            return
        answer = {name: count or 0 for name, count in json.loads(said)[0].items()}
        if answer["pages"] != answer["fetched"]:
            self.wrong.append(f"{answer['pages']} pages of {answer['fetched']} visits")
        if any(answer[name] < count for name, count in self._last.items()):
            self.wrong.append(f"after {self._last} came {answer}")
        self._last = answer
        self.answered += 1


def _put_last(pid: int) -> None:
    """Behind the web, which shares the core: Linux compares how nice processes are within a session only, and sessions
    by this number (sched(7), autogroup). A web that is late would change what the crawl does in one turn."""
    with suppress(OSError):
        Path(f"/proc/{pid}/autogroup").write_text("19", encoding="ascii")
