"""The command line, run as a user runs it."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.sim.web import serve
from whimbrel.job import crawl as crawl_module
from whimbrel.simweb.spec import WebSpec


def whimbrel(*arguments: str, timeout: float = 50) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "whimbrel", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=timeout, check=False)


def test_the_demo_finds_the_truth_and_leaves_a_directory(tmp_path: Path) -> None:
    done = whimbrel("demo", "--into", str(tmp_path / "out"))
    assert done.returncode == 0, done.stderr
    assert "Every URL that a correct crawl finds was found" in " ".join(done.stdout.split())
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert summary["state"] == "done"
    assert summary["outcomes"]["stored"] > 1_000
    assert len((tmp_path / "out" / "outcomes.jsonl").read_text().splitlines()) == summary["visited"]


def test_graph_draws_the_standalone_wiring_as_text_and_mermaid() -> None:
    text = whimbrel("graph")
    assert text.returncode == 0
    assert "parser\n  .links ──direct──▶ distributor.links" in text.stdout
    mermaid = whimbrel("graph", "standalone", "--format", "mermaid")
    assert mermaid.stdout.startswith("flowchart LR\n")
    assert "c_parser -->|direct| c_distributor" in mermaid.stdout


def test_graph_refuses_a_wrong_wiring_with_its_place(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text('[components.a]\nuse = "no-such-thing"\n')
    done = whimbrel("graph", str(file))
    assert done.returncode == 2
    assert f"{file}:1: component 'a': there is no component 'no-such-thing'" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_component_from_a_users_file_can_be_wired(tmp_path: Path) -> None:
    code = tmp_path / "mine.py"
    code.write_text(
        "from whimbrel.flow import Async, Out\n"
        "class Thing: pass\n"
        "class Mine(Async):\n    things = Out(Thing, optional=True)\n    async def run(self): pass\n"
    )
    file = tmp_path / "mine.toml"
    file.write_text('[components.a]\nuse = "Mine"\n')
    assert whimbrel("graph", str(file)).returncode == 2
    done = whimbrel("graph", str(file), "--with", str(code))
    assert done.returncode == 0, done.stderr
    assert "a  (Mine)" in done.stdout


def test_simweb_faults_lists_everything_as_json() -> None:
    entries = json.loads(whimbrel("simweb", "faults", "--json").stdout)
    families = {entry["family"] for entry in entries}
    assert {"connection", "robots", "dns", "tls", "trap", "duplicate", "redirect", "coding"} <= families
    assert all(entry["summary"] and entry["verdict"] and entry["where"] for entry in entries)


def test_simweb_truth_is_the_same_in_two_processes() -> None:
    arguments = ("simweb", "truth", "--preset", "wild", "--hosts", "30", "--pages", "5", "--json")
    first, second = whimbrel(*arguments), whimbrel(*arguments)
    assert first.returncode == 0, first.stderr
    assert first.stdout == second.stdout
    rows = [json.loads(line) for line in first.stdout.splitlines()]
    assert len({row["url"] for row in rows}) == len(rows) > 100


def test_simweb_truth_reads_a_specification_and_refuses_a_wrong_one(tmp_path: Path) -> None:
    good, bad = tmp_path / "good.toml", tmp_path / "bad.toml"
    good.write_text("hosts = 2\npages = 3\n")
    bad.write_text("[exhibits]\nreset-reuse = 0.5\n")
    assert "6 URLs" in whimbrel("simweb", "truth", "--spec", str(good), "--seeds", "2").stdout
    done = whimbrel("simweb", "truth", "--spec", str(bad))
    assert done.returncode == 2
    assert "did you mean 'reset-reused'" in done.stderr


def test_a_second_web_does_not_disturb_the_first(tmp_path: Path) -> None:
    with serve(WebSpec(hosts=1), tmp_path / "web") as web:
        done = whimbrel("simweb", "serve", "--free-ports", "--state", str(tmp_path / "web"))
        assert done.returncode == 2
        assert "runs from" in done.stderr
        port = str(web.running.http_port)
        done = whimbrel("simweb", "serve", "--http-port", port, "--state", str(tmp_path / "other"))
        assert done.returncode == 2
        assert f"cannot listen on port {port}: the port is in use" in done.stderr
        status = whimbrel("simweb", "status", "--state", str(tmp_path / "web"))
        assert status.returncode == 0, status.stderr
        assert (tmp_path / "web" / "control.sock").stat().st_mode & 0o077 == 0


def crawl_with_own_parser(tmp_path: Path, pages: int, process: str) -> subprocess.CompletedProcess[str]:
    """Crawl a small web with the standalone wiring, its parser replaced by one from a user's file."""
    own, code = tmp_path / "own.toml", tmp_path / "own.py"
    shipped = Path(crawl_module.__file__).with_name("standalone.toml").read_text()
    own.write_text(shipped.replace('use = "parser"', 'use = "Own"'))
    code.write_text(
        "from __future__ import annotations\n"
        "from whimbrel.parse.parser import Parser\n"
        "class Own(Parser):\n"
        "    def process(self, fetched):\n"
        f"        {process}\n"
        "        return super().process(fetched)\n"
    )
    with serve(WebSpec(hosts=2, pages=pages, page_bytes=3_000), tmp_path / "web") as web:
        return whimbrel(
            *("crawl", web.running.seeds[0], "--into", str(tmp_path / "out"), "--delay", "0s"),
            *("--wiring", str(own), "--with", str(code)),
            *("--allow-network", "127.0.0.0/8", "--resolver", f"127.0.0.1:{web.running.dns_port}"),
        )


def test_a_crawl_runs_a_wiring_of_the_users_own(tmp_path: Path) -> None:
    done = crawl_with_own_parser(tmp_path, 3, "print('shout', fetched.visit.url)")
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("shout http://www.s0.test") == 3


def test_a_component_that_raises_fails_the_crawl_and_is_named(tmp_path: Path) -> None:
    done = crawl_with_own_parser(tmp_path, 40, "if fetched.visit.depth == 2: raise ValueError('no further')")
    assert done.returncode == 1
    assert "parser failed in process: ValueError: no further" in done.stdout
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert summary["visited"] == len((tmp_path / "out" / "outcomes.jsonl").read_text().splitlines()) > 1
    assert summary["left_in_connectors"]


def test_the_truth_of_stored_pages_is_what_is_stored(tmp_path: Path) -> None:
    warc = tmp_path / "one.warc"
    http = b"HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\n\r\nno"
    head = (
        "WARC/1.1\r\nWARC-Type: response\r\nWARC-Record-ID: <urn:uuid:0d5fd2e8-0c11-4d92-9d52-000000000000>\r\n"
        "WARC-Date: 2026-01-01T00:00:00Z\r\nWARC-Target-URI: http://a.example/x\r\n"
        f"Content-Type: application/http;msgtype=response\r\nContent-Length: {len(http)}\r\n\r\n"
    )
    warc.write_bytes(head.encode() + http + b"\r\n\r\n")
    done = whimbrel("simweb", "truth", "--warc", str(warc), "--json")
    assert done.returncode == 0, done.stderr
    row = json.loads(done.stdout)
    assert (row["url"], row["outcome"], row["reason"]) == ("http://a.example/x", "gone", "http-404")


def test_clock_and_status_say_when_no_web_runs(tmp_path: Path) -> None:
    for command in (("clock", "1d"), ("status",)):
        done = whimbrel("simweb", *command, "--state", str(tmp_path))
        assert done.returncode == 2
        assert "no simulated web answers" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("crawl", "mailto:a@b"), "is not an http or https URL"),
        (("crawl", "http://a.test/", "--delay", "soon"), "is not a duration"),
        (("crawl", "http://a.test/"), "no network may be crawled"),
        (("crawl", "http://a.test/", "--resolver", "bogus"), "is not ADDRESS:PORT"),
        (("crawl", "http://a.test/", "--ca", "/no/such/file"), "does not exist"),
        (("simweb", "serve", "--http-port", "99999"), "65535"),
        (("simweb", "serve", "--warc", "/no/such/file"), "/no/such/file"),
        (("simweb", "truth", "--hosts", "20000000"), "hosts"),
        (("crawl", "http://a.test/", "--allow-network", "10.0.0.0/8"), "is not on loopback"),
        (("crawl", "http://a.test/", "--scope", "galaxy"), "scope is host or any"),
        (("simweb", "faults", "--family", "none"), "there is no family"),
        (("graph", "nothing"), "neither a file nor a wiring"),
    ],
)
def test_bad_input_is_answered_with_one_clear_line(tmp_path: Path, arguments: tuple[str, ...], message: str) -> None:
    more = ("--into", str(tmp_path / "out")) if arguments[0] == "crawl" else ()
    done = whimbrel(*arguments, *more)
    assert done.returncode == 2
    assert message in " ".join(done.stderr.replace("│", " ").split())
    assert "Traceback" not in done.stderr


def test_a_directory_with_something_in_it_is_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / "precious").write_text("mine")
    done = whimbrel("crawl", "http://a.test/", "--into", str(tmp_path), "--allow-network", "127.0.0.0/8")
    assert done.returncode == 2
    assert "is not an empty directory" in done.stderr
    done = whimbrel("demo", "--into", str(tmp_path))
    assert (done.returncode, done.stdout) == (2, "")
    assert (tmp_path / "precious").read_text() == "mine"


def test_every_command_has_help() -> None:
    for command in (
        (),
        ("crawl",),
        ("demo",),
        ("graph",),
        ("simweb",),
        ("bench",),
        ("simweb", "serve"),
        ("bench", "flow"),
    ):
        done = whimbrel(*command, "--help")
        assert done.returncode == 0
        assert "Usage" in done.stdout
