"""Commands that need no crawl, and what all commands have in common."""

import json
from pathlib import Path

import pytest

from tests.cli.command import run, run_alone
from tests.sim.web import serve
from whimbrel.simweb.spec import WebSpec


def test_graph_draws_the_standalone_wiring_as_text_and_mermaid() -> None:
    text = run("graph")
    assert text.code == 0
    assert "\n  .parsed ──direct──▶ distributor.parsed" in text.out
    mermaid = run("graph", "standalone", "--format", "mermaid")
    assert mermaid.out.startswith("flowchart LR\n")
    assert "c_parser -->|direct| c_distributor" in mermaid.out


def test_graph_refuses_a_wrong_wiring_with_its_place(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text('[components.a]\nuse = "no-such-thing"\n')
    done = run("graph", str(file))
    assert done.code == 2
    assert f"{file}:1: component 'a': there is no component 'no-such-thing'" in done.err
    assert "Traceback" not in done.err


def test_a_component_from_a_users_file_can_be_wired(tmp_path: Path) -> None:
    code = tmp_path / "mine.py"
    code.write_text(
        "from whimbrel.flow import Async, Out\n"
        "class Thing: pass\n"
        "class Mine(Async):\n    things = Out(Thing, optional=True)\n    async def run(self): pass\n"
    )
    file = tmp_path / "mine.toml"
    file.write_text('[components.a]\nuse = "Mine"\n')
    assert run("graph", str(file)).code == 2
    done = run("graph", str(file), "--with", str(code))
    assert done.code == 0, done.err
    assert "a  (Mine)" in done.out


def test_simweb_faults_lists_everything_as_json() -> None:
    entries = json.loads(run("simweb", "faults", "--json").out)
    families = {entry["family"] for entry in entries}
    assert {"connection", "robots", "dns", "tls", "trap", "duplicate", "redirect", "coding"} <= families
    assert all(entry["summary"] and entry["verdict"] and entry["where"] for entry in entries)


def test_simweb_truth_is_the_same_in_two_processes() -> None:
    arguments = ("simweb", "truth", "--preset", "wild", "--hosts", "30", "--pages", "5", "--json")
    first, second = run(*arguments), run(*arguments)
    assert first.code == 0, first.err
    assert first.out == second.out
    rows = [json.loads(line) for line in first.out.splitlines()]
    assert len({row["url"] for row in rows}) == len(rows) > 100


def test_simweb_truth_reads_a_specification_and_refuses_a_wrong_one(tmp_path: Path) -> None:
    good, bad = tmp_path / "good.toml", tmp_path / "bad.toml"
    good.write_text("hosts = 2\npages = 3\n")
    bad.write_text("[exhibits]\nreset-reuse = 0.5\n")
    assert "6 URLs" in run("simweb", "truth", "--spec", str(good), "--seeds", "2").out
    done = run("simweb", "truth", "--spec", str(bad))
    assert done.code == 2
    assert "did you mean 'reset-reused'" in done.err


def test_a_second_web_does_not_disturb_the_first(tmp_path: Path) -> None:
    with serve(WebSpec(hosts=1), tmp_path / "web") as web:
        done = run("simweb", "serve", "--free-ports", "--state", str(tmp_path / "web"))
        assert done.code == 2
        assert "runs from" in done.err
        port = str(web.running.http_port)
        done = run("simweb", "serve", "--http-port", port, "--state", str(tmp_path / "other"))
        assert done.code == 2
        assert f"cannot listen on port {port}: the port is in use" in done.err
        status = run("simweb", "status", "--state", str(tmp_path / "web"))
        assert status.code == 0, status.err
        assert (tmp_path / "web" / "control.sock").stat().st_mode & 0o077 == 0


def test_a_web_is_served_and_asked_from_a_directory_deeper_than_the_address_of_a_socket(tmp_path: Path) -> None:
    deep = tmp_path.joinpath(*["a-directory-of-thirty-letters"] * 6)
    with serve(WebSpec(hosts=1), deep):
        again = run("simweb", "serve", "--free-ports", "--state", str(deep))
        assert again.code == 2
        assert "runs from" in again.err
        status = run("simweb", "status", "--state", str(deep))
        assert status.code == 0, status.err
        assert (deep / "control.sock").stat().st_mode & 0o077 == 0
    assert not (deep / "control.sock").exists()


def test_the_truth_of_stored_pages_is_what_is_stored(tmp_path: Path) -> None:
    warc = tmp_path / "one.warc"
    http = b"HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\n\r\nno"
    head = (
        "WARC/1.1\r\nWARC-Type: response\r\nWARC-Record-ID: <urn:uuid:0d5fd2e8-0c11-4d92-9d52-000000000000>\r\n"
        "WARC-Date: 2026-01-01T00:00:00Z\r\nWARC-Target-URI: http://a.example/x\r\n"
        f"Content-Type: application/http;msgtype=response\r\nContent-Length: {len(http)}\r\n\r\n"
    )
    warc.write_bytes(head.encode() + http + b"\r\n\r\n")
    done = run("simweb", "truth", "--warc", str(warc), "--json")
    assert done.code == 0, done.err
    row = json.loads(done.out)
    assert (row["url"], row["outcome"], row["reason"]) == ("http://a.example/x", "gone", "http-404")


def test_clock_and_status_say_when_no_web_runs(tmp_path: Path) -> None:
    for command in (("clock", "1d"), ("status",)):
        done = run("simweb", *command, "--state", str(tmp_path))
        assert done.code == 2
        assert "no simulated web answers" in done.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("crawl",), "there is no seed; name a URL, or a file of URLs with --seeds"),
        (("crawl", "mailto:a@b"), "is not an http or https URL"),
        (("crawl", "http://a.test/", "--delay", "soon"), "delay: 'soon' is not a duration"),
        (("crawl", "http://a.test/", "--max-rate", "much"), "max_rate: 'much' is not a size"),
        (("crawl", "http://a.test/", "--resolver", "bogus"), "is not ADDRESS:PORT"),
        (("crawl", "http://a.test/", "--allow-network", "bogus"), "is not a network"),
        (("crawl", "http://a.test/", "--proxy", "bogus"), "is not the URL of a proxy"),
        (("crawl", "http://a.test/", "--ca", "/no/such/file"), "does not exist"),
        (("crawl", "http://a.test/", "--scope", "galaxy"), "is none of page, prefix, host, domain, any"),
        (("crawl", "http://a.test/", "--order", "chaos"), "is none of breadth, depth, ascend"),
        (("crawl", "http://a.test/", "--mode", "broad"), "a broad crawl needs --contact"),
        (("crawl", "http://a.test/", "--max-pages", "0"), "greater than or equal to 1"),
        (("crawl", "http://a.test/", "--header", "bad"), "write it as 'Name: value'"),
        (("crawl", "http://a.test/", "--set", "frontier"), "write PART.KEY=VALUE"),
        (("crawl", "http://a.test/", "--set", "effects.retry=1"), "did you mean 'retry_s'?"),
        (("crawl", "http://a.test/", "--set", "effect.retry_s=1"), "has no 'effect'"),
        (("crawl", "http://a.test/", "--set", "effects.retry_s=often"), "retry_s"),
        (("crawl", "http://a.test/", "--seeds", "/no/such/file"), "--seeds /no/such/file"),
        (("crawl", "http://a.test/", "--with", "/no/such.py"), "/no/such.py cannot be loaded"),
        (("crawl", "http://a.test/", "--wiring", "/no/such.toml"), "/no/such.toml cannot be read"),
        (("crawl", "http://a.test/", "--job", "/no/such.toml"), "/no/such.toml is not there"),
        (("resume", "/no/such"), "/no/such holds no crawl; begin one with"),
        (("status", "/no/such"), "/no/such holds no crawl"),
        (("verify", "/no/such"), "/no/such holds no crawl"),
        (("why", "/no/such", "http://a.test/"), "/no/such holds no crawl"),
        (("why", "/no/such", "not a url"), "/no/such holds no crawl"),
        (("query", "/no/such", "select 1"), "/no/such holds no crawl"),
        (("config", "show", "/no/such"), "/no/such/job.toml is not there"),
        (("fetch", "mailto:a@b"), "is not an http or https URL"),
        (("graph", "nothing"), "neither a crawl nor a file nor a wiring"),
        (("simweb", "serve", "--http-port", "99999"), "65535"),
        (("simweb", "serve", "--warc", "/no/such/file"), "/no/such/file"),
        (("simweb", "truth", "--hosts", "20000000"), "hosts"),
        (("simweb", "faults", "--family", "none"), "there is no family"),
    ],
)
def test_bad_input_is_answered_with_one_clear_line(tmp_path: Path, arguments: tuple[str, ...], message: str) -> None:
    more = ("--into", str(tmp_path / "out")) if arguments[0] == "crawl" else ()
    done = run(*arguments, *more)
    assert done.code == 2
    assert message in done.words
    assert "Traceback" not in done.err
    assert not (tmp_path / "out").exists()


def test_errors_end_a_process_of_its_own_without_a_traceback() -> None:
    done = run_alone("status", "/no/such")
    assert (done.code, done.out) == (2, "")
    assert done.err == "whimbrel: /no/such holds no crawl; `whimbrel crawl SEED --into DIR` makes one\n"


def test_a_directory_with_something_in_it_is_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / "precious").write_text("mine")
    done = run("crawl", "http://a.test/", "--into", str(tmp_path))
    assert done.code == 2
    assert "is not an empty directory" in done.err
    assert [path.name for path in tmp_path.iterdir()] == ["precious"]


def test_every_command_has_help() -> None:
    groups: dict[tuple[str, ...], tuple[str, ...]] = {
        (): ("crawl", "resume", "status", "why", "verify", "query", "fetch", "config", "demo", "graph", "simweb"),
        ("config",): ("show",),
        ("simweb",): ("serve", "truth", "faults", "clock", "status"),
        ("bench",): ("flow", "peers", "politeness"),
    }
    for group, commands in groups.items():
        told = run(*group, "--help")
        assert told.code == 0
        for command in commands:
            assert command in told.out
            helped = run(*group, command, "--help")
            assert helped.code == 0
            assert "Usage" in helped.out


def test_the_version_is_told() -> None:
    assert run("--version").out.startswith("whimbrel 0.")
