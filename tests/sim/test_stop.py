"""A crawl that is stopped ends soon, whatever it waits for."""

import signal
import subprocess
import sys
from pathlib import Path

from tests.sim.crawl import options, whimbrel
from tests.sim.web import serve
from whimbrel.simweb.spec import WebSpec


def test_a_crawl_whose_hosts_wait_for_one_address_stops_at_once(tmp_path: Path) -> None:
    # Two hundred hosts at a few addresses with five seconds between requests: nearly all wait to be qualified.
    with serve(WebSpec(hosts=200, pages=2, shared=1.0, cdn=0.0, robots={}), tmp_path / "web") as served:
        (tmp_path / "seeds").write_text("\n".join(served.web.hosts.origin(number) + "/" for number in range(200)))
        polite = ["--delay", "5s", "--seeds", str(tmp_path / "seeds"), "--into", str(tmp_path / "crawl")]
        command = [sys.executable, "-m", "whimbrel", "crawl", *options(served), *polite]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as crawl:
            assert crawl.stdout is not None
            try:
                for line in crawl.stdout:
                    if " queued, " in line and not line.strip().startswith("0.0 s"):
                        break
                crawl.send_signal(signal.SIGTERM)
                rest, _ = crawl.communicate(timeout=25)
            finally:
                crawl.kill()
        assert crawl.returncode == 3, rest
        assert "URLs are still queued" in rest
        assert whimbrel("verify", str(tmp_path / "crawl")).returncode == 0
