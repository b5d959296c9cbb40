"""A crawl that runs, in a process of its own, over a simulated web; and the three ways to reach it."""

import http.client
import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec

from tests.sim.crawl import options
from tests.sim.web import Served, serve
from whimbrel.control.address import read_address
from whimbrel.control.api import (
    Action,
    Add,
    Allow,
    Bind,
    Block,
    Checkpoint,
    ControlError,
    Done,
    Pause,
    Remove,
    Requeue,
    Seed,
    Set,
    Speed,
    Stop,
    Unblock,
    Unpause,
    name_of,
)
from whimbrel.control.client import Control
from whimbrel.simweb.server.log import LoggedExchange, read_log
from whimbrel.simweb.spec import WebSpec

PATIENCE_S = 60.0
"""On a busy machine."""


@dataclass
class RunningCrawl:
    directory: Path
    served: Served
    log: Path
    process: "subprocess.Popen[str]"

    @property
    def control(self) -> Control:
        return Control(self.directory, caller="test (Python)")

    def status(self) -> Any:
        return msgspec.to_builtins(self.control.status())

    def until(self, true: Callable[[Any], bool], what: str) -> Any:
        """Wait for the crawl to be in a state; the status then."""
        end_s = time.monotonic() + PATIENCE_S
        while time.monotonic() < end_s:
            found = self.status()
            if true(found):
                return found
            time.sleep(0.05)
        raise AssertionError(f"not within {PATIENCE_S:g} s: {what}; {found}")

    def requests(self, *, since: float = 0.0, until: float = float("inf")) -> list[LoggedExchange]:
        """What the web was asked for between two moments; its log is a second behind."""
        now = time.time()
        time.sleep(max(0.0, (now if until == float("inf") else until) + 1.5 - now))
        return [one for one in read_log(self.log) if since <= one.start < until]

    def wait(self) -> dict[str, Any]:
        """To the end; the summary."""
        out, err = self.process.communicate(timeout=120)
        assert self.process.returncode in (0, 3), err[-3000:]
        found: dict[str, Any] = json.loads(out)
        return found


def command(served: Served, directory: Path, *more: str, **settings: Any) -> list[str]:
    base = [sys.executable, "-m", "whimbrel", "crawl", *served.running.seeds, "--into", str(directory), "--json"]
    return [*base, *options(served, **settings), *more]


@contextmanager
def crawling(spec: WebSpec, folder: Path, *more: str, **settings: Any) -> Iterator[RunningCrawl]:
    """A crawl of the web from its seeds, up and able to be reached."""
    directory = folder / "crawl"
    with (
        serve(spec, folder / "web") as served,
        started(command(served, directory, *more, **settings), served, directory) as crawl,
    ):
        yield crawl


@contextmanager
def started(arguments: list[str], served: Served, directory: Path) -> Iterator[RunningCrawl]:
    log = directory.parent / "web" / "access.tsv"
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            crawl = RunningCrawl(directory, served, log, process)
            end_s = time.monotonic() + PATIENCE_S
            while not _reachable(directory, process.pid):
                assert process.poll() is None, process.communicate()
                assert time.monotonic() < end_s
                time.sleep(0.02)
            crawl.until(lambda now: now["state"] == "running", "running")
            yield crawl
        finally:
            process.kill()
            process.wait()


def _reachable(directory: Path, pid: int) -> bool:
    try:
        return read_address(directory).pid == pid
    except ControlError:
        return False  # Not yet; or what is there is of a crawl that was killed.


Caller = Callable[[Path, Action], dict[str, Any]]
"""Has an action carried out; what came of it, with `error` when it was not."""


def by_python(directory: Path, action: Action) -> dict[str, Any]:
    found: dict[str, Any] = msgspec.to_builtins(_call(Control(directory), action))
    return found


def _call(control: Control, action: Action) -> Done:  # noqa: C901, PLR0911
    """As a program would write it."""
    match action:
        case Pause():
            return control.pause()
        case Unpause():
            return control.unpause()
        case Stop():
            return control.stop()
        case Checkpoint():
            return control.checkpoint()
        case Speed(pages_per_s=float(rate)):
            return control.speed(rate)
        case Speed(delay_s=float(delay), of=of):
            return control.speed(delay_s=delay, of=of)
        case Block(what=what):
            return control.block(*what)
        case Unblock(what=what):
            return control.unblock(*what)
        case Seed(urls=urls):
            return control.seed(*urls)
        case Set(settings=settings):
            return control.set(settings)
    return control.carry_out(action)


def by_http(directory: Path, action: Action) -> dict[str, Any]:
    body = msgspec.json.encode(action)
    status, found = request(directory, "POST", f"/v1/actions/{name_of(action)}", body)
    assert status == 200, found
    answer: dict[str, Any] = json.loads(found)
    return answer


def by_command(directory: Path, action: Action) -> dict[str, Any]:
    line = [sys.executable, "-m", "whimbrel", "control", str(directory), name_of(action), "--json", *_words(action)]
    done = subprocess.run(line, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


CALLERS: dict[str, Caller] = {"http": by_http, "command": by_command, "python": by_python}


def request(
    directory: Path, method: str, path: str, body: bytes | None = None, /, **headers: str | None
) -> tuple[int, bytes]:
    """A plain request with the token; a header that is None is left out, others replace ours."""
    address = read_address(directory)
    where = urlsplit(address.url)
    sent: dict[str, str | None] = {"authorization": f"Bearer {address.token}", "content-type": "application/json"}
    sent |= {name.replace("_", "-"): value for name, value in headers.items()}
    connection = http.client.HTTPConnection(where.hostname or "", where.port, timeout=60)
    try:
        connection.request(method, path, body, {name: value for name, value in sent.items() if value is not None})
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()


def _words(action: Action) -> list[str]:  # noqa: PLR0911
    """An action as a person types it."""
    match action:
        case Block(what=what) | Unblock(what=what):
            return [*what]
        case Seed(urls=urls):
            return [*urls]
        case Allow(host=host, without_robots=without):
            return [host, *(["--without-robots"] if without else [])]
        case Requeue(outcome=outcome, reason=reason, host=host):
            return ["--outcome", outcome, "--reason", reason, "--host", host]
        case Set(settings=settings):
            return [f"{name}={json.dumps(value)}" for name, value in settings.items()]
        case Bind(provider=provider, use=use, config=config):
            return [provider, use, *(f"{key}={json.dumps(value)}" for key, value in config.items())]
        case Speed():
            return _speed_words(action)
        case Add(name=name, use=use, connectors=connectors, parts=parts, needs=needs, config=config):
            words = [name, use, *(f"--config={key}={json.dumps(value)}" for key, value in config.items())]
            words += [f"--connect={joint.source}>{joint.target}" for joint in connectors]
            words += [f"--part={joint.source}>{joint.target}" for joint in parts]
            return words + [f"--need={need}={provider}" for need, provider in needs.items()]
        case Remove(name=name, connectors=connectors):
            return [name, *(f"--connect={joint.source}>{joint.target}" for joint in connectors)]
    return []


def _speed_words(action: Speed) -> list[str]:
    words = [] if action.pages_per_s is None else [str(action.pages_per_s)]
    if action.bytes_per_s is not None:
        words += ["--bytes", str(action.bytes_per_s)]
    if action.connections is not None:
        words += ["--connections", str(action.connections)]
    if action.delay_s is not None:
        words += ["--delay", str(action.delay_s)]
    return [*words, "--of", action.of] if action.of else words
