"""A small and a large state, crawled for the same time."""

import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, Self

import msgspec

from whimbrel.bench.scale.build import BuiltState, Size, build
from whimbrel.commit.committed import read_committed
from whimbrel.job.options import combined, job_text
from whimbrel.simweb.server.serve import RunningWeb, await_running
from whimbrel.simweb.spec import WebSpec
from whimbrel.simweb.web import Web

_WARM_UP: Final = 0.1
"""The share of the time that is not counted at its beginning."""
_LEAST_RATE: Final = 0.9
_MOST_MEMORY: Final = 600_000_000
_MOST_WAIT_S: Final = 10.0


class ScaleRun(msgspec.Struct, frozen=True):
    """A crawl that was resumed and went on for a while."""

    pages_per_s: float
    cpu_ms_per_page: float
    peak_bytes: int
    first_s: float
    """From the start of the command to the first request for a page."""
    visits: int


class ScaleResult(msgspec.Struct, frozen=True):
    small: ScaleRun
    large: ScaleRun
    built: BuiltState
    built_in_s: float

    @property
    def kept(self) -> float:
        """The share of the small state's rate that the large one reached."""
        return self.large.pages_per_s / self.small.pages_per_s

    @property
    def met(self) -> bool:
        fast, small = self.kept >= _LEAST_RATE, self.large.peak_bytes <= _MOST_MEMORY
        return fast and small and self.large.first_s <= _MOST_WAIT_S


def measure(large: Size, seconds: float, work: Path, say: Callable[[str], None]) -> ScaleResult:
    """Build both states in `work`, serve a web that holds their URLs, and crawl each."""
    part = max(1, large.hosts // 20)
    small = Size(hosts=part, per_host=3, one_host=max(1, part // 50), taken=part, known=4 * part)
    spec = WebSpec(hosts=large.hosts + 1, pages=3, links=20, hosts_per_domain=1, robots={"missing-404": 1.0})
    work.mkdir(parents=True, exist_ok=True)
    with _Server(spec, work / "web") as server:
        web = Web(msgspec.structs.replace(spec, **server.running.ports()))
        build(_fresh(work / "small", server.running, seconds), web, small, say)
        began_s = time.monotonic()
        built = build(_fresh(work / "large", server.running, seconds), web, large, say)
        took_s = time.monotonic() - began_s
        say(f"built {built.known:,} known and {built.queued:,} queued URLs in {took_s:.0f} s")
        runs = [_crawled(work / name, seconds, say) for name in ("small", "large")]
    return ScaleResult(runs[0], runs[1], built, took_s)


def _fresh(directory: Path, running: RunningWeb, seconds: float) -> Path:
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir()
    layer: dict[str, Any] = {
        "seeds": ["http://seed.test/"],
        "scope": "any",
        "delay": 0.0,
        "max_depth": 0,
        "max_time": seconds * (1 + _WARM_UP),
        "connections": 64,
        "resolver": f"127.0.0.1:{running.dns_port}",
        "allow_network": ["127.0.0.0/8"],
    }
    (directory / "job.toml").write_text(job_text(combined([("bench", layer)])), encoding="utf-8")
    return directory


def _crawled(directory: Path, seconds: float, say: Callable[[str], None]) -> ScaleRun:
    before = read_committed(directory).counters.visits
    command = [sys.executable, "-m", "whimbrel", "resume", str(directory)]
    began_s = time.monotonic()
    with subprocess.Popen(  # noqa: S603
        command,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        preexec_fn=_on(1),  # noqa: PLW1509
    ) as crawl:
        watch = _Watch(directory, crawl.pid, before, began_s)
        watch.start()
        _, _, usage = os.wait4(crawl.pid, 0)
        crawl.returncode = 0
        watch.ended.set()
        watch.join()
    visits = read_committed(directory).counters.visits - before
    run = ScaleRun(
        watch.rate(seconds),
        (usage.ru_utime + usage.ru_stime) * 1000 / max(1, visits),
        watch.peak_bytes,
        watch.first_s,
        visits,
    )
    say(f"{directory.name}: {run.pages_per_s:,.0f} pages/s, peak {run.peak_bytes / 1e6:,.0f} MB")
    return run


class _Watch(threading.Thread):
    """Reads what the crawl has committed and how large its process is, a few times a second."""

    def __init__(self, directory: Path, process: int, before: int, began_s: float) -> None:
        super().__init__(daemon=True)
        self.ended = threading.Event()
        self.peak_bytes = 0
        """What `wait4` says would count the memory of the process that started the crawl, too."""
        self._status = Path(f"/proc/{process}/status")
        self._directory, self._before, self._began_s = directory, before, began_s
        self._seen: list[tuple[float, int]] = []

    def run(self) -> None:
        while not self.ended.wait(0.1):
            with suppress(OSError, StopIteration):
                lines = self._status.read_text().splitlines()
                self.peak_bytes = 1024 * int(next(line for line in lines if line.startswith("VmHWM")).split()[1])
            visits = read_committed(self._directory).counters.visits
            if not self._seen or visits != self._seen[-1][1]:
                self._seen.append((time.monotonic(), visits))

    @property
    def first_s(self) -> float:
        """When the first visits were committed, which is later than the first request."""
        return next((at_s - self._began_s for at_s, visits in self._seen if visits > self._before), float("inf"))

    def rate(self, seconds: float) -> float:
        """Pages per second once the crawl is warm."""
        first_s = self._began_s + seconds * _WARM_UP
        warm = [entry for entry in self._seen if first_s <= entry[0] <= first_s + seconds]
        if len(warm) < 2:
            return 0.0
        return (warm[-1][1] - warm[0][1]) / (warm[-1][0] - warm[0][0])


class _Server:
    """A simulated web on the other core."""

    def __init__(self, spec: WebSpec, state: Path) -> None:
        shutil.rmtree(state, ignore_errors=True)
        state.mkdir(parents=True)
        (state / "spec.json").write_bytes(msgspec.json.encode(spec))
        command = [sys.executable, "-m", "whimbrel", "simweb", "serve", "--spec", str(state / "spec.json")]
        command += ["--free-ports", "--state", str(state)]
        self._process = subprocess.Popen(  # noqa: S603
            command,
            stdout=subprocess.DEVNULL,
            preexec_fn=_on(0),  # noqa: PLW1509
        )
        self.running = await_running(self._process, state)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        self._process.wait(10)


def _on(core: int) -> Callable[[], None]:
    """Pin a child to a core, where there are two."""
    cores = sorted(os.sched_getaffinity(0))

    def pin() -> None:
        os.sched_setaffinity(0, {cores[core % len(cores)]})

    return pin
