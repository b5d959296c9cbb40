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

import os
import random
import subprocess
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from statistics import mean, stdev
from typing import Final

import msgspec
import psutil

from whimbrel.bench.browser import NoBrowser, browser_path
from whimbrel.bench.observers import DashboardObserver, NoObserver, Observer, QueryObserver, SpinningProcess
from whimbrel.bench.politeness.stage import Stage, StageError, crawl_command, staged
from whimbrel.commit.committed import read_committed
from whimbrel.simweb.spec import WebSpec

MOST: Final = 1.05
"""The crawl's CPU time per page with questions, in multiples of that alone."""
KINDS: Final = ("alone", "spinning", "watched", "asked")
_SETTLE_S: Final = 0.3
_BEGIN_S: Final = 60.0
_BEGIN_COMMITS: Final = 5


class OverheadPlan(msgspec.Struct, frozen=True, kw_only=True):
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


class OverheadResult(msgspec.Struct, frozen=True, kw_only=True):
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


def measure(plan: OverheadPlan, folder: Path, said: Callable[[str], None]) -> OverheadResult:
    """`said` gets what is being measured. StageError when a crawl cannot be run."""
    cores = sorted(os.sched_getaffinity(0))
    own, others = {cores[-1]}, set(cores[:-1]) or {cores[-1]}
    os.sched_setaffinity(0, others)
    path, unwatched = _browser()
    kinds = [kind for kind in KINDS if path or kind != "watched"]
    found = OverheadResult(turns_ms={kind: [] for kind in kinds}, questions=0, wrong=[], unwatched=unwatched)
    with staged(WebSpec(hosts=plan.hosts, pages=plan.pages, latency_ms=0), folder) as stage:
        for number in range(plan.rounds):
            into = folder / f"crawl-{number}"
            whole = crawl_command(stage.running, stage.web.seed_urls(plan.hosts), into, 0.0, 64)
            whole += ["--max-pages-per-s", str(plan.pages_per_s)]
            with stage.crawling(whole) as crawl, ExitStack() as stack:
                os.sched_setaffinity(crawl.pid, own)
                _await_pages(stage, crawl, into)
                observers: dict[str, Observer] = {
                    "alone": NoObserver(),
                    "spinning": stack.enter_context(SpinningProcess()),
                }
                if path:
                    observers["watched"] = stack.enter_context(
                        DashboardObserver(into, folder / f"browser-{number}", path)
                    )
                asking = observers["asked"] = QueryObserver(into)
                for cycle in range(plan.cycles):
                    said(f"crawl {number + 1} of {plan.rounds}, cycle {cycle + 1} of {plan.cycles}")
                    for kind in random.sample(kinds, len(kinds)):
                        found.turns_ms[kind].append(_turn(stage, crawl, observers[kind], plan.turn_s))
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


def _turn(stage: Stage, crawl: "subprocess.Popen[bytes]", observer: Observer, for_s: float) -> float:
    """CPU time per page in milliseconds, of the crawl's process alone."""
    process = psutil.Process(crawl.pid)
    observer.begin()
    time.sleep(_SETTLE_S)
    pages, cpu_s = stage.requests(), _cpu_s(process)
    end = time.monotonic() + for_s
    while time.monotonic() < end:
        observer.ask()
    pages, cpu_s = stage.requests() - pages, _cpu_s(process) - cpu_s
    observer.end()
    if crawl.poll() is not None or pages <= 0:
        raise StageError(f"the crawl ended before it was measured; {stage.last_words()}")
    return cpu_s / pages * 1_000


def _cpu_s(process: psutil.Process) -> float:
    used = process.cpu_times()
    return float(used.user + used.system)
