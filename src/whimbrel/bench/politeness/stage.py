"""A simulated web and a crawler, each a process of its own, and the command lines that start them."""

import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import msgspec

from whimbrel.error import UsageError
from whimbrel.simweb.server.control import ask
from whimbrel.simweb.server.log import LoggedExchange, read_log
from whimbrel.simweb.server.serve import RunningWeb, await_running
from whimbrel.simweb.spec import WebSpec
from whimbrel.simweb.web import Web

_STOP_S: Final = 60.0
_TAIL_BYTES: Final = 2_000
_WHIMBREL: Final = (sys.executable, "-m", "whimbrel")


class StageError(UsageError):
    """The crawl could not be run; the message has its last words."""


def crawl_command(running: RunningWeb, seeds: Sequence[str], into: Path, delay_s: float, connections: int) -> list[str]:
    """All of a stage's crawls are started with this."""
    traits = ["--scope", "any", "--delay", f"{delay_s:g}s", "--connections", str(connections)]
    where = ["--allow-network", "127.0.0.0/8", "--resolver", f"127.0.0.1:{running.dns_port}", "--ca", running.ca]
    return [*_WHIMBREL, "crawl", *seeds, "--into", str(into), *traits, *where]


def resume_command(into: Path) -> list[str]:
    return [*_WHIMBREL, "resume", str(into)]


@dataclass(frozen=True)
class Stage:
    """A web that is being served."""

    running: RunningWeb
    web: Web
    folder: Path

    def requests(self) -> int:
        """How many the web has answered or is answering."""
        served = ask(Path(self.running.control), {"do": "status"})["served"]
        return sum(served.values()) if isinstance(served, dict) else 0

    @contextmanager
    def crawling(self, command: Sequence[str]) -> Iterator["subprocess.Popen[bytes]"]:
        """Run a crawl; what it prints goes to a file. It is killed if it still runs at the end."""
        with self._words().open("ab") as words:
            # In a session of its own: an interrupt at the terminal is for us, and we end it in good order.
            crawl = subprocess.Popen(  # noqa: S603
                command, stdout=words, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, start_new_session=True
            )
            try:
                yield crawl
            finally:
                if crawl.poll() is None:
                    crawl.kill()
                    crawl.wait()

    def stop(self, crawl: "subprocess.Popen[bytes]") -> int:
        """Ask a crawl to end, and wait for it; returns its exit code."""
        if crawl.poll() is None:
            crawl.terminate()
        try:
            return crawl.wait(_STOP_S)
        except subprocess.TimeoutExpired:
            raise StageError(f"the crawl did not stop within {_STOP_S:.0f} s; {self.last_words()}") from None

    def last_words(self) -> str:
        """The end of what the crawls have printed."""
        path = self._words()
        text = path.read_bytes()[-_TAIL_BYTES:].decode("utf-8", "replace").strip() if path.exists() else ""
        return f"it said:\n{text}" if text else "it said nothing"

    def _words(self) -> Path:
        return self.folder / "crawl.txt"


@contextmanager
def staged(spec: WebSpec, folder: Path) -> Iterator[Stage]:
    """Serve a web from a folder, on free ports, with an access log; it is whole once the context has ended."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "simweb.json").unlink(missing_ok=True)  # It would say where an earlier web was.
    file = folder / "spec.json"
    file.write_bytes(msgspec.json.encode(spec))
    command = [*_WHIMBREL, "simweb", "serve", "--spec", str(file), "--free-ports", "--state", str(folder)]
    server = subprocess.Popen(  # noqa: S603
        [*command, "--log", str(folder / "access.tsv")], stdout=subprocess.DEVNULL, start_new_session=True
    )
    try:
        running = await_running(server, folder)
        ports = running.ports()
        yield Stage(running, Web(msgspec.structs.replace(spec, **ports)), folder)
    finally:
        server.terminate()
        server.wait(30)


def access_log(folder: Path) -> list[LoggedExchange]:
    return read_log(folder / "access.tsv")


def children_cpu_s() -> float:
    """CPU time of the processes that were started from here and have ended."""
    times = os.times()
    return times.children_user + times.children_system
