"""What it costs a running crawl to be questioned and watched: its CPU time per page with and without.

One crawl, in turns of a few seconds: alone, beside a process that only spins, with its dashboard open in a browser, and
with one question after the other asked. The turns of a cycle are in random order and are compared with each other,
so that slow minutes of the machine and the growth of the crawl cancel out; crawls that were compared as wholes differed
by a tenth from one to the next. The dashboard and its browser are there all the time and stand still outside their
turns. The crawl has a core of its own; the web and the others share the rest. It goes at one speed, which web and crawl
can easily keep: a web that has less time for a crawl at full speed makes its rounds shorter, and that costs CPU time
that has nothing to do with questions. That a busy neighbour slows a core down is the machine's doing; the spinning
process shows how much. Each answer is checked: what it counts in two tables is of one commit, and never less than
before.
"""

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from pathlib import Path
from statistics import mean, stdev
from typing import Final, Protocol, Self

import msgspec
import psutil

from whimbrel.bench.browser import Browser, NoBrowser, browser_path
from whimbrel.bench.politeness.stage import Stage, StageError, crawl_command, staged
from whimbrel.commit.committed import read_committed
from whimbrel.simweb.spec import WebSpec

MOST: Final = 1.05
"""The crawl's CPU time per page with questions, in multiples of that alone."""
_QUESTION: Final = """
    SELECT (SELECT count(*) FROM pages) AS pages,
           (SELECT count(*) FROM fetches WHERE outcome IN ('stored', 'duplicate')) AS fetched,
           (SELECT count(*) FROM links l JOIN pages p ON p.id = l.target_key) AS joined,
           (SELECT max(n) FROM (SELECT host, count(*) AS n FROM pages GROUP BY host)) AS most"""
KINDS: Final = ("alone", "spinning", "watched", "asked")
_LOOK_S: Final = 0.1
_SETTLE_S: Final = 0.3
_BEGIN_S: Final = 60.0
_BEGIN_COMMITS: Final = 5


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    hosts: int = 100
    rounds: int = 4
    """Crawls."""
    cycles: int = 8
    """Of each crawl; a cycle has a turn of each kind."""
    turn_s: float = 3.0
    pages_per_s: float = 500.0
    """The speed of all crawls."""

    @property
    def pages(self) -> int:
        """Of each host: more than a crawl gets."""
        return int(2 * self.cycles * len(KINDS) * self.turn_s * self.pages_per_s / self.hosts) + 200


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    turns_ms: dict[str, list[float]]
    """CPU time per page of each turn, by its kind; without "watched" where no browser could be had."""
    questions: int
    wrong: list[str]
    """Questions that failed, or whose answers do not fit each other."""
    unwatched: str = ""
    """Why there is no figure for an open dashboard."""

    def ratio(self, kind: str) -> float:
        """CPU time per page in turns of this kind, in multiples of that alone."""
        return mean(self.turns_ms[kind]) / mean(self.turns_ms["alone"])

    def error(self, kind: str) -> float:
        """How far the ratio may be off: one standard error, from how much the cycles differ."""
        ratios = [this / that for this, that in zip(self.turns_ms[kind], self.turns_ms["alone"], strict=True)]
        return stdev(ratios) / len(ratios) ** 0.5 if len(ratios) > 1 else 1.0

    @property
    def met(self) -> bool:
        judged = [self.ratio(kind) for kind in ("asked", "watched") if self.turns_ms.get(kind)]
        return max(judged) <= MOST and self.questions > 0 and not self.wrong


def measure(plan: Plan, folder: Path, said: Callable[[str], None]) -> Outcome:
    """`said` gets what is being measured. StageError when a crawl cannot be run."""
    cores = sorted(os.sched_getaffinity(0))
    own, others = {cores[-1]}, set(cores[:-1]) or {cores[-1]}
    os.sched_setaffinity(0, others)
    path, unwatched = _browser()
    kinds = [kind for kind in KINDS if path or kind != "watched"]
    found = Outcome(turns_ms={kind: [] for kind in kinds}, questions=0, wrong=[], unwatched=unwatched)
    with staged(WebSpec(hosts=plan.hosts, pages=plan.pages, latency_ms=0), folder) as stage:
        for number in range(plan.rounds):
            into = folder / f"crawl-{number}"
            seeds = stage.web.seed_urls(plan.hosts)
            command = crawl_command(stage.running, seeds, into, 0.0, 64)
            with stage.crawling([*command, "--max-pages-per-s", str(plan.pages_per_s)]) as crawl, ExitStack() as stack:
                os.sched_setaffinity(crawl.pid, own)
                _await_pages(stage, crawl, into)
                company: dict[str, _Company] = {"alone": _Nobody(), "spinning": stack.enter_context(_Spinning())}
                if path:
                    said(f"crawl {number + 1} of {plan.rounds}: opening its dashboard")
                    company["watched"] = stack.enter_context(_Watching(into, folder / f"browser-{number}", path))
                asking = company["asked"] = _Asking(into)
                for cycle in range(plan.cycles):
                    said(f"crawl {number + 1} of {plan.rounds}, cycle {cycle + 1} of {plan.cycles}")
                    for kind in random.sample(kinds, len(kinds)):
                        found.turns_ms[kind].append(_turn(stage, crawl, company[kind], plan.turn_s))
                found.wrong.extend(asking.wrong)
                found = msgspec.structs.replace(found, questions=found.questions + asking.answered)
    return found


def _browser() -> tuple[str, str]:
    """The browser, or why there is none."""
    try:
        return browser_path(), ""
    except NoBrowser as error:
        return "", str(error)


def _await_pages(stage: Stage, crawl: "subprocess.Popen[bytes]", into: Path) -> None:
    """Until the crawl has found its hosts and has pages to be asked for."""
    end = time.monotonic() + _BEGIN_S
    while not (into / "COMMITTED").exists() or read_committed(into).number < _BEGIN_COMMITS:
        if crawl.poll() is not None or time.monotonic() > end:
            raise StageError(f"the crawl brought no page; {stage.last_words()}")
        time.sleep(0.1)


def _turn(stage: Stage, crawl: "subprocess.Popen[bytes]", company: "_Company", for_s: float) -> float:
    """CPU time per page in milliseconds, of the crawl's process alone."""
    process = psutil.Process(crawl.pid)
    company.begin()
    time.sleep(_SETTLE_S)
    pages, cpu_s = stage.requests(), _cpu_s(process)
    end = time.monotonic() + for_s
    while time.monotonic() < end:
        company.ask()
    pages, cpu_s = stage.requests() - pages, _cpu_s(process) - cpu_s
    company.end()
    if crawl.poll() is not None or pages <= 0:
        raise StageError(f"the crawl ended before it was measured; {stage.last_words()}")
    return cpu_s / pages * 1_000


def _cpu_s(process: psutil.Process) -> float:
    used = process.cpu_times()
    return float(used.user + used.system)


class _Company(Protocol):
    """Somebody beside a crawl, in turns."""

    def begin(self) -> None: ...

    def ask(self) -> None:
        """Called again and again during a turn; takes a while."""

    def end(self) -> None: ...


class _Nobody:
    def begin(self) -> None:
        """Nothing."""

    def ask(self) -> None:
        time.sleep(_LOOK_S)

    def end(self) -> None:
        """Nothing."""


class _Spinning(_Nobody):
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


class _Watching(_Nobody):
    """Somebody who has the dashboard open."""

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


class _Asking(_Nobody):
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
