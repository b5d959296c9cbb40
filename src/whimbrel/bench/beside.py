"""What it costs a running crawl to be questioned and watched: its CPU time per page with and without.

Crawls in turn: alone, beside a process that only spins, with one question after the other asked beside them, and with
somebody who asks the control interface once a second for what an open dashboard shows. The crawl has a core of its own;
the web and the others share the rest. All crawls go at one speed, which web and crawl can
easily keep: a web that has less time for a crawl at full speed makes its turns shorter, and that costs CPU time that
has nothing to do with questions. That a busy neighbour slows a core down is the machine's doing; the spinning process
shows how much. Machines have slow minutes, so each crawl is compared with the one before it, and the median of these
ratios counts. Each answer is checked: what it counts in two tables is of one commit, and never less than before.
"""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from statistics import median
from typing import Final

import msgspec

from whimbrel.bench.politeness.stage import Stage, StageError, crawl_command, staged
from whimbrel.control.api import ControlError
from whimbrel.control.client import Control
from whimbrel.query.opened import Opened
from whimbrel.simweb.spec import WebSpec

MOST: Final = 1.05
"""The crawl's CPU time per page with questions, in multiples of that alone."""
_QUESTION: Final = """
    SELECT (SELECT count(*) FROM pages) AS pages,
           (SELECT count(*) FROM fetches WHERE outcome IN ('stored', 'duplicate')) AS fetched,
           (SELECT count(*) FROM links l JOIN pages p ON p.id = l.target_key) AS joined,
           (SELECT max(n) FROM (SELECT host, count(*) AS n FROM pages GROUP BY host)) AS most"""


_LOOK_S: Final = 1.0


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    hosts: int = 100
    pages: int = 120
    """Of each host."""
    rounds: int = 3
    pages_per_s: float = 500.0
    """The speed of all crawls."""


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    alone_ms: list[float]
    """CPU time per page of each round."""
    spinning_ms: list[float]
    beside_ms: list[float]
    watched_ms: list[float]
    questions: int
    wrong: list[str]
    """Questions that failed, or whose answers do not fit each other."""

    @property
    def ratio(self) -> float:
        return _ratio(self.beside_ms, self.alone_ms)

    @property
    def neighbour_ratio(self) -> float:
        """What any busy neighbour costs on this machine. It explains; it does not judge."""
        return _ratio(self.spinning_ms, self.alone_ms)

    @property
    def watched_ratio(self) -> float:
        """What an open dashboard costs."""
        return _ratio(self.watched_ms, self.alone_ms)

    @property
    def met(self) -> bool:
        return max(self.ratio, self.watched_ratio) <= MOST and self.questions > 0 and not self.wrong


def _ratio(these: list[float], those: list[float]) -> float:
    return median(this / that for this, that in zip(these, those, strict=True))


def measure(plan: Plan, folder: Path) -> Outcome:
    """StageError when a crawl cannot be run."""
    cores = sorted(os.sched_getaffinity(0))
    own, others = {cores[-1]}, set(cores[:-1]) or {cores[-1]}
    os.sched_setaffinity(0, others)
    found = Outcome(alone_ms=[], spinning_ms=[], beside_ms=[], watched_ms=[], questions=0, wrong=[])
    spec = WebSpec(hosts=plan.hosts, pages=plan.pages, latency_ms=0)
    with staged(spec, folder) as stage:
        for number in range(plan.rounds):
            found.alone_ms.append(_crawl(stage, folder / f"alone-{number}", plan, own))
            with _spinning():
                found.spinning_ms.append(_crawl(stage, folder / f"spinning-{number}", plan, own))
            watched = folder / f"watched-{number}"
            found.watched_ms.append(_crawl(stage, watched, plan, own, _Watching(watched)))
            asking = _Asking(folder / f"beside-{number}")
            found.beside_ms.append(_crawl(stage, folder / f"beside-{number}", plan, own, asking))
            found.wrong.extend(asking.wrong)
            found = msgspec.structs.replace(found, questions=found.questions + asking.answered)
    return found


class _Watching:
    """What a dashboard asks for as long as somebody looks at it."""

    def __init__(self, directory: Path) -> None:
        self._control = Control(directory, caller="bench")

    def ask(self) -> None:
        # Before the crawl is up, and when it has just ended, nobody answers.
        with suppress(ControlError):
            self._control.status()
            self._control.wiring()
            self._control.history(600)
            self._control.config()
        time.sleep(_LOOK_S)


class _Asking:
    """One question after the other, each in a process of its own as a user asks it."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self.answered = 0
        self.wrong: list[str] = []
        self._last: dict[str, int] = {}

    def ask(self) -> None:
        if not (self._directory / "COMMITTED").exists():
            return
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


@contextmanager
def _spinning() -> Iterator[None]:
    process = subprocess.Popen([sys.executable, "-c", "while True: pass"], start_new_session=True)
    _put_last(process.pid)
    try:
        yield
    finally:
        process.kill()
        process.wait()


def _crawl(stage: Stage, into: Path, plan: Plan, cores: set[int], asking: _Asking | _Watching | None = None) -> float:
    """CPU time per page in milliseconds, of the crawl's process alone."""
    command = crawl_command(stage.running, stage.web.seed_urls(plan.hosts), into, 0.0, 64)
    command += ["--max-pages-per-s", str(plan.pages_per_s)]
    with stage.crawling(command) as crawl:
        os.sched_setaffinity(crawl.pid, cores)
        while asking is not None and not _has_ended(crawl.pid):
            asking.ask()
        # Popen itself would take the exit code and forget what the process used.
        _, status, used = os.wait4(crawl.pid, 0)
        crawl.returncode = os.waitstatus_to_exitcode(status)
    if crawl.returncode != 0:
        raise StageError(f"the crawl failed with exit code {crawl.returncode}; {stage.last_words()}")
    pages = Opened([into]).sql("SELECT count(*) AS n FROM pages").dicts()[0]["n"]
    if not pages:
        raise StageError(f"the crawl brought no page; {stage.last_words()}")
    return float((used.ru_utime + used.ru_stime) / pages * 1_000)


def _has_ended(pid: int) -> bool:
    """Without taking its exit code."""
    return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
