"""What pages and servers say never reaches a terminal as it is; progress is shown in plain lines elsewhere."""

import io
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from rich.console import Console

from tests.cli.command import Done, run
from tests.job.site import page, served
from whimbrel.cli.display import ProgressDisplay, one_line
from whimbrel.job.progress import Progress
from whimbrel.terminal import json_text, printable

HOSTILE = "\x1b]0;owned\x07 \x9b31m \u202egnp.exe [bold]x[/bold]"
PAGES = {
    "/": page(f"/x?{HOSTILE}", title=HOSTILE, head=f'<meta name="description" content="{HOSTILE}">'),
    "/private": page(),
    "/robots.txt": (200, {"Content-Type": "text/plain"}, "User-agent: *\nDisallow: /private\n"),
}
OWN = ("--delay", "0s", "--allow-network", "127.0.0.0/8")


@pytest.fixture(scope="module")
def site() -> Iterator[str]:
    status, headers, body = PAGES["/"]
    pages = {**PAGES, "/": (status, {**headers, "X-Evil": "\x1b[2J\x9b31m"}, str(body).replace("to /x", HOSTILE))}
    with served(pages) as port:
        yield f"http://127.0.0.1:{port}"


@pytest.fixture(scope="module")
def crawl(site: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    into = tmp_path_factory.mktemp("hostile") / "out"
    done = run("crawl", f"{site}/", "--into", str(into), *OWN)
    assert done.code == 0, done.words
    assert is_harmless(done)
    return into


def is_harmless(done: Done) -> bool:
    return all(one.isprintable() or one == "\n" for one in done.out + done.err)


def test_why_query_and_fetch_show_what_a_page_says_as_escapes(crawl: Path, site: str) -> None:
    stories = [
        run("why", str(crawl), f"{site}/"),
        run("why", str(crawl), f"{site}/x?{HOSTILE}"),
        run("query", str(crawl), "select title, description from pages"),
        run("query", str(crawl), "select anchor from links"),
        run("fetch", f"{site}/", *OWN[2:]),
        run("status", str(crawl)),
        run("verify", str(crawl)),
    ]
    assert all(done.code == 0 for done in stories)
    assert [done.out for done in stories if not is_harmless(done)] == []
    assert r"\x1b]0;owned\x07" in stories[2].out
    assert r"\u202e" in stories[4].out
    assert "[bold]x[/bold]" in stories[4].out


def test_json_is_harmless_too_and_its_values_are_exact(crawl: Path, site: str) -> None:
    fetched = run("fetch", f"{site}/", "--json", *OWN[2:])
    assert is_harmless(fetched)
    assert fetched.json()["page"]["title"] == HOSTILE.replace("\x9b", "\x9b").strip()
    told = run("why", str(crawl), f"{site}/", "--json")
    assert is_harmless(told)
    assert told.json()["page"][0]["title"] == fetched.json()["page"]["title"]


@pytest.mark.parametrize("text", ["plain ä 文 😀", HOSTILE, "\ue000 \U000f0000 \u2028", "a\tb\nc"])
def test_escapes_lose_nothing(text: str) -> None:
    import msgspec

    assert printable(text).isprintable()
    assert msgspec.json.decode(json_text({"x": text})) == {"x": text}
    assert all(one.isprintable() or one == "\n" for one in json_text({"x": text}))
    assert printable("plain ä 文 😀") == "plain ä 文 😀"


def test_fetch_honours_robots_txt_and_tells_what_it_found(site: str) -> None:
    done = run("fetch", f"{site}/private", *OWN[2:])
    assert done.code == 1
    assert "robots.txt forbids this URL (status 200, crawl delay 0 s)" in done.words
    assert "denied (robots)" in done.words
    found = run("fetch", f"{site}/", "--json", *OWN[2:]).json()
    assert (found["outcome"], found["status"], found["robots"]["verdict"]) == ("stored", 200, "allowed")
    assert [link["kind"] for link in found["links"]] == ["a"]


PROGRESS = Progress(
    elapsed_s=12.5,
    visited=1_234,
    pages_per_s=99.6,
    queued=5_000,
    visiting=7,
    outcomes={"stored": 1_200, "gone": 34},
    bound_by="connections (--connections)",
    left_s=50.2,
)


def test_progress_is_one_plain_line() -> None:
    assert one_line(PROGRESS) == (
        "  12.5 s  1,234 visited (100/s), 5,000 queued, 7 under way; 1,200 stored, 34 gone; "
        "bound by connections (--connections); at least 50 s to go"
    )


def test_without_a_terminal_there_is_a_line_now_and_then_and_what_is_to_be_told() -> None:
    out = io.StringIO()
    with ProgressDisplay(Console(file=out, width=200, soft_wrap=True)) as display:
        for _ in range(50):
            display.show(PROGRESS)
        display.say("stopping: [bold]\x1b[2J")
    lines = out.getvalue().splitlines()
    assert lines == [one_line(PROGRESS), r"stopping: [bold]\x1b[2J"]


def test_on_a_terminal_there_is_a_panel_that_goes_away() -> None:
    out = io.StringIO()
    console = Console(file=out, force_terminal=True, width=100, color_system=None)
    with ProgressDisplay(console) as display:
        display.show(PROGRESS)
        display.say("hello")
    assert "hello" in out.getvalue()
    assert "bound by connections" in out.getvalue()


def test_the_log_can_be_json_lines(tmp_path: Path) -> None:
    with served({"/": page("/b"), "/b": page()}) as port:
        command = [
            sys.executable,
            "-m",
            "whimbrel",
            "crawl",
            f"http://127.0.0.1:{port}/",
            "--into",
            str(tmp_path / "c"),
        ]
        command += ["--allow-network", "127.0.0.0/8", "--log", "json", "--max-pages", "1"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    lines = [json.loads(line) for line in done.stderr.splitlines() if line.startswith("{")]
    assert {line["kind"] for line in lines} >= {"progress"}
    assert all("at" in line for line in lines)
    assert lines[-1]["visited"] >= 0
