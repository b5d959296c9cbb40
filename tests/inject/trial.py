"""One fault in one crawl, and what is to be true afterwards."""

import json
import mmap
import os
import shutil
import struct
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, NamedTuple, Self

import msgspec

from tests.inject.found import Found
from tests.inject.web import Web
from whimbrel.commit.committed import read_committed
from whimbrel.error import WhimbrelError

_HEAD: Final = struct.Struct("<IIiIQII16s120s")
_PLACE: Final = struct.Struct("<QII120s")
_PLACES: Final = 8192
SHORT: Final = 1000
"""Not an error: half of the bytes are written."""
_CAUSES: Final = ("open files", "no memory left", "memory runs out", "can't start new thread")
_TRIES: Final = 4
_LONGEST_S: Final = 40.0
"""A run that takes longer hangs."""
_LEAF_S: Final = 0.05
_DEADLY: Final = ("allocate", "mmap", "thread", "pipe")
"""Where native libraries end the process: libuv and RocksDB abort when they cannot begin. Then `resume` goes on."""
PHASES: Final = ("crawl", "resume")


class Fault(msgspec.Struct, frozen=True):
    """The n-th call of a place fails, in the first run of a crawl or when it is resumed."""

    phase: str
    place: str
    """KIND|LIBRARY|WHAT."""
    nth: int
    error: int
    times: int = 1
    """Calls of that kind that fail from there on."""

    @property
    def kind(self) -> str:
        return self.place.partition("|")[0]

    def __str__(self) -> str:
        error = "short" if self.error == SHORT else os.strerror(self.error)
        return f"{self.phase} {self.place} #{self.nth} {error}" + (f" x{self.times}" if self.times > 1 else "")


class Ended(NamedTuple):
    """What became of it."""

    fault: Fault | None
    fired: str
    """Where; empty when the crawl never came there."""
    codes: tuple[Any, ...]
    findings: tuple[str, ...]
    """What should not be; empty: all is well."""
    number: int = 0


class Map:
    """The shim's counters and its order, in a shared file."""

    def __init__(self, path: Path, fault: Fault | None) -> None:
        self.path = path
        path.write_bytes(bytes(_HEAD.size + _PLACE.size * _PLACES))
        with path.open("r+b") as file:
            self._map = mmap.mmap(file.fileno(), 0)
        order = (1, 0, 0, 0, 0, 0, 0, b"", b"")
        if fault is not None:
            order = (1, fault.nth, fault.error, fault.times, _hash(fault.place), 0, 0, fault.kind.encode(), b"")
        self._map[: _HEAD.size] = _HEAD.pack(*order)

    @property
    def fired(self) -> str:
        head = _HEAD.unpack(self._map[: _HEAD.size])
        return head[8].partition(b"\0")[0].decode(errors="replace") if head[5] else ""


def counts_in(path: Path) -> dict[str, int]:
    """Calls by place, of a run that had this map."""
    found, data = {}, path.read_bytes()
    for at in range(_HEAD.size, len(data), _PLACE.size):
        hashed, count, _, name = _PLACE.unpack_from(data, at)
        if hashed:
            found[name.partition(b"\0")[0].decode(errors="replace")] = count
    return found


def _hash(text: str) -> int:
    found = 1469598103934665603
    for byte in text.encode():
        found = ((found ^ byte) * 1099511628211) % 2**64
    return found or 1


class Launcher:
    """A process that forks crawls."""

    def __init__(self, shim: Path) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.inject.launcher"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=Path(__file__).parents[2],
            env={**os.environ, "LD_PRELOAD": str(shim)},
        )

    def run(self, **order: Any) -> Any:
        """The exit code; negative: ended by a signal."""
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write(json.dumps(order) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        assert line, "the launcher has ended"
        return json.loads(line)["code"]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.close()
        self._process.wait(20)
        self._process.stdout.close()


class Trial:
    """Crawls of the small web in a directory of their own."""

    def __init__(self, launcher: Launcher, web: Web, into: Path, run: str) -> None:
        self._launcher = launcher
        self._web = web
        self._into = into
        self._crawl = into / "crawl"
        self._run = run

    def run(self, fault: Fault | None, reference: Found | None) -> Ended:
        shutil.rmtree(self._into, ignore_errors=True)
        self._into.mkdir(parents=True)
        codes: list[Any] = []
        findings: list[str] = []
        fired = ""
        for phase in PHASES:
            hurt = fault if fault is not None and fault.phase == phase else None
            counters = Map(self._into / f"map-{phase}", hurt) if hurt or fault is None else None
            codes.append(self._go_on(phase, counters))
            if hurt is not None and counters is not None:
                fired = counters.fired
                findings += self._judged_end(codes[-1], hurt) if fired else []
        for _ in range(_TRIES):
            if codes[-1] == 0 and self._is_done:
                break
            codes.append(self._go_on("resume", None))
        if self._is_done:
            findings += self._compared(reference)
        else:
            findings.append(f"no resume brings it to its end: {self._said()[-300:]}")
        if "Traceback" in self._said():
            findings.append("a traceback is shown")
        return Ended(fault, fired, tuple(codes), tuple(findings))

    @property
    def _is_done(self) -> bool:
        try:
            return read_committed(self._crawl).state == "done"
        except (WhimbrelError, OSError):
            return False

    def _go_on(self, phase: str, counters: Map | None) -> Any:
        """As somebody would who reads what the command says: where no crawl has begun, it is begun."""
        return self._launch(phase if (self._crawl / "job.toml").exists() else "crawl", counters)

    def warm(self) -> None:
        """Let the launcher import what the last crawl here had imported: later ones start at once."""
        names = dict.fromkeys((self._into / "modules").read_text().split())
        self._launcher.run(modules=list(names))

    def counts(self, phase: str) -> dict[str, int]:
        return counts_in(self._into / f"map-{phase}")

    def found(self) -> Found:
        to, log = self._into / "found", self._into / "check"
        code = self._launcher.run(
            check=str(self._crawl), to=str(to), log=str(log), modules_to=str(self._into / "modules")
        )
        if code != 0:
            raise ValueError(f"the check ended with {code}: {log.read_text()[-800:]}")
        return msgspec.json.decode(to.read_bytes(), type=Found)

    def _said(self) -> str:
        with suppress(OSError):
            return (self._into / "log").read_text(errors="replace")
        return ""

    def _judged_end(self, code: Any, fault: Fault) -> list[str]:
        """Of the run that met the fault: it goes on, or it says why not."""
        if code == "hung":
            return [f"hung: {self._said()[-1500:]}"]
        if code == 0:
            return []
        if isinstance(code, int) and code < 0:
            return [] if fault.kind in _DEADLY else [f"ended by signal {-code}: {self._said()[-1500:]}"]
        said = self._said().lower()
        # Native libraries may keep the cause to themselves; then what it can be is named.
        cause = os.strerror(fault.error).lower()
        known = (*_CAUSES, "memory") if fault.kind in ("allocate", "mmap") else _CAUSES
        if not any(one in said for one in (cause, *known)):
            return [f"ended with {code} and does not say that {cause}: {self._said()[-600:]}"]
        return []

    def _launch(self, phase: str, counters: Map | None) -> Any:
        order: dict[str, Any] = {"command": self._command(phase), "log": str(self._into / "log")}
        order["modules_to"] = str(self._into / "modules")
        order["longest_s"] = _LONGEST_S + self._web.leaf_count * _LEAF_S
        if counters is not None:
            order |= {"map": str(counters.path), "root": str(self._crawl)}
        with (self._into / "log").open("a") as log:
            log.write(f"--- {phase}{'' if counters is None else ' with the shim'}\n")
        return self._launcher.run(**order)

    def _command(self, phase: str) -> list[str]:
        if phase == "resume":
            return ["resume", str(self._crawl), "--json", "--max-pages", "100000"]
        half = str(5 + self._web.leaf_count // 2)  # so that `resume` has as much to do
        settings = (
            "journal.every_s=0.05",
            "journal.segment_bytes=100000",
            "journal.tail_bytes=4000",
            "effects.retry_s=0.1",
        )
        return [
            *("crawl", f"http://a.test:{self._web.port}/", "--into", str(self._crawl), "--json", "--scope", "any"),
            *("--contact", "a@b.example", "--delay", "0s", "--max-pages", half, "--allow-network", "127.0.0.0/8"),
            *("--resolver", f"127.0.0.1:{self._web.names_port}", "--header", f"X-Run: {self._run}"),
            *("--with", str(Path(__file__).with_name("handlers.py"))),
            *(part for setting in settings for part in ("--set", setting)),
        ]

    def _compared(self, reference: Found | None) -> list[str]:
        try:
            found = self.found()
        except ValueError as error:
            return [str(error)]
        findings = [f"{name}: twice or more {again}" for name, again in found.repeated().items()]
        if found.verify:
            findings.append(f"verify: {found.verify[-300:]}")
        if reference is not None:
            findings += found.differences(reference)
        return findings
