"""How fast the simulated web serves: the server on one core, wrk on the other."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

import msgspec

from whimbrel.error import UsageError
from whimbrel.simweb.page import SECTIONS
from whimbrel.simweb.server.serve import await_running

_LUA: Final = """\
local labels = {"www", "blog", "shop", "docs"}
local sections = {%s}
function init(args) math.randomseed(7) end
function request()
  local page = math.random(1, 999)
  local host = labels[math.random(1, 4)] .. ".s" .. math.random(0, %d - 1) .. ".test:%d"
  return wrk.format("GET", "/" .. sections[page %% #sections + 1] .. "/" .. page .. ".html", {["Host"] = host})
end
"""


class BenchError(UsageError):
    """Something that the measurement needs is missing."""


class ServerSpeed(msgspec.Struct, frozen=True):
    hosts: int
    connections: int
    seconds: float
    pages_per_s: float
    bytes_per_page: float
    server_cpu_us_per_page: float
    server_peak_mb: float
    errors: int


def measure(hosts: int, connections: int, seconds: int) -> ServerSpeed:
    """Random pages of random hosts, all over http/1.1 with keep-alive, with the access log on."""
    if shutil.which("wrk") is None:
        raise BenchError("wrk is not installed; `make tools` installs it where it can")
    with tempfile.TemporaryDirectory(prefix="whimbrel-bench-") as folder:
        state = Path(folder)
        server = _start(state, hosts)
        try:
            running = await_running(server, state)
            script = state / "random.lua"
            sections = ", ".join(f'"{section}"' for section in SECTIONS)
            script.write_text(_LUA % (sections, hosts // 4, running.http_port), encoding="ascii")
            before = _cpu_s(server.pid)
            output = _wrk(script, running.http_port, connections, seconds)
            cpu_s = _cpu_s(server.pid) - before
            peak = _peak_mb(server.pid)
        finally:
            server.terminate()
            server.wait(10)
    return _measured(output, hosts, connections, seconds, cpu_s, peak)


def _start(state: Path, hosts: int) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "whimbrel", "simweb", "serve", "--free-ports", "--hosts", str(hosts)]
    command += ["--pages", "1000", "--state", str(state), "--log", str(state / "access.tsv")]
    return subprocess.Popen([*_pinned(0), *command], stdout=subprocess.DEVNULL)  # noqa: S603


def _pinned(core: int) -> list[str]:
    """Server and client each on a core of its own, where there are two."""
    cores = sorted(os.sched_getaffinity(0))
    return ["taskset", "-c", str(cores[core])] if len(cores) > 1 and shutil.which("taskset") else []


def _wrk(script: Path, port: int, connections: int, seconds: int) -> str:
    command = ["wrk", "-t", "1", "-c", str(connections), "-d", f"{seconds}s", "-s", str(script)]
    done = subprocess.run(  # noqa: S603
        [*_pinned(1), *command, f"http://127.5.5.5:{port}/"], capture_output=True, text=True, check=True
    )
    return done.stdout


def _measured(output: str, hosts: int, connections: int, seconds: int, cpu_s: float, peak: float) -> ServerSpeed:
    total = re.search(r"(\d+) requests in ([\d.]+)s, ([\d.]+)(KB|MB|GB) read", output)
    if total is None:
        raise BenchError(f"wrk said something unexpected:\n{output}")
    pages, spent = int(total[1]), float(total[2])
    size = float(total[3]) * {"KB": 2**10, "MB": 2**20, "GB": 2**30}[total[4]]
    bad = re.search(r"Non-2xx or 3xx responses: (\d+)", output)
    lost = re.search(r"Socket errors: connect (\d+), read (\d+), write (\d+), timeout (\d+)", output)
    errors = (int(bad[1]) if bad else 0) + (sum(map(int, lost.groups())) if lost else 0)
    return ServerSpeed(hosts, connections, seconds, pages / spent, size / pages, cpu_s / pages * 1e6, peak, errors)


def _cpu_s(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _peak_mb(pid: int) -> float:
    status = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    found = re.search(r"VmHWM:\s+(\d+) kB", status)
    return int(found[1]) / 1024 if found else 0.0
