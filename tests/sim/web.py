"""A simulated web in a process of its own, for tests that crawl it."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import msgspec

from whimbrel.simweb.server.serve import RunningWeb, await_running
from whimbrel.simweb.spec import WebSpec
from whimbrel.simweb.web import Web


@dataclass(frozen=True)
class Served:
    running: RunningWeb
    web: Web


@contextmanager
def serve(spec: WebSpec, state: Path) -> Iterator[Served]:
    """Served on free ports, with an access log in `state`/access.tsv."""
    state.mkdir(parents=True)
    file = state / "spec.json"
    file.write_bytes(msgspec.json.encode(spec))
    command = [sys.executable, "-m", "whimbrel", "simweb", "serve", "--spec", str(file), "--free-ports"]
    command += ["--state", str(state), "--log", str(state / "access.tsv")]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as server:
        try:
            running = await_running(server, state)
            yield Served(running, Web(msgspec.structs.replace(spec, **running.ports())))
        finally:
            server.terminate()
            server.wait(10)
