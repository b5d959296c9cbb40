"""A simulated web in a process of its own, for tests that crawl it."""

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import msgspec

from whimbrel.simweb.server.serve import Running
from whimbrel.simweb.spec import WebSpec
from whimbrel.simweb.web import Web


@dataclass(frozen=True)
class Served:
    running: Running
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
            deadline = time.monotonic() + 20
            while not (state / "simweb.json").exists():
                assert server.poll() is None, "the simulated web did not start"
                assert time.monotonic() < deadline, "the simulated web did not start in time"
                time.sleep(0.02)
            running = msgspec.json.decode((state / "simweb.json").read_bytes(), type=Running)
            ports = {"http_port": running.http_port, "https_port": running.https_port}
            yield Served(running, Web(msgspec.structs.replace(spec, **ports)))
        finally:
            server.terminate()
            server.wait(10)
