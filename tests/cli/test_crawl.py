"""`crawl` and `resume`, and the commands that look at their result, on a site of a few pages."""

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.cli.command import Done, run, run_alone
from tests.job.site import moved, page, served
from whimbrel.job import crawl as crawl_module

PAGES = {
    "/robots.txt": (200, {"Content-Type": "text/plain"}, "User-agent: *\nDisallow: /private\n"),
    "/": page("/a", "/b", "/gone", "/moved", "/private/x", "http://elsewhere.test/", title="home"),
    "/a": page("/", "/b", title="first"),
    "/b": page("/a", "/deep/er/", title="second"),
    "/deep/er/": page("/", title="third"),
    "/moved": moved("/a?moved"),
    "/a?moved": page("/"),
}
OWN = ("--delay", "0s", "--allow-network", "127.0.0.0/8")
ENDS = {
    "/": ("stored", "new"),
    "/a": ("stored", "new"),
    "/a?moved": ("stored", "new"),
    "/b": ("stored", "new"),
    "/deep/er/": ("stored", "new"),
    "/gone": ("gone", "http-404"),
    "/moved": ("redirected", "http-302"),
    "/private/x": ("denied", "robots"),
}


@dataclass(frozen=True)
class Crawl:
    directory: Path
    site: str
    done: Done

    def ask(self, sql: str) -> list[dict[str, Any]]:
        answer = run("query", str(self.directory), sql, "--format", "json")
        assert answer.code == 0, answer.err
        found: list[dict[str, Any]] = answer.json()
        return found

    def ends(self) -> dict[str, tuple[str, str]]:
        rows = self.ask("select url, outcome, reason from fetches where outcome <> 'retry'")
        return {row["url"].removeprefix(self.site): (row["outcome"], row["reason"]) for row in rows}


@pytest.fixture(scope="module")
def crawl(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Crawl]:
    directory = tmp_path_factory.mktemp("crawl") / "out"
    with served(PAGES) as port:
        done = run("crawl", f"http://127.0.0.1:{port}/", "--into", str(directory), "--contact", "me@a.test", *OWN)
        yield Crawl(directory, f"http://127.0.0.1:{port}", done)


def test_a_crawl_ends_with_a_summary_and_every_url_with_its_outcome(crawl: Crawl) -> None:
    assert crawl.done.code == 0, crawl.done.words
    assert "done: 8 visits on 1 host in" in crawl.done.words
    assert "robots.txt forbids them" in crawl.done.words
    assert crawl.ends() == ENDS


def test_the_archive_and_the_tables_are_verified(crawl: Crawl, tmp_path: Path) -> None:
    assert "are intact" in run("verify", str(crawl.directory)).out
    hurt = tmp_path / "hurt"
    shutil.copytree(crawl.directory, hurt)
    segment = next((hurt / "archive").glob("*.warc.gz"))
    data = bytearray(segment.read_bytes())
    data[len(data) // 2] ^= 0xFF
    segment.write_bytes(data)
    done = run("verify", str(hurt))
    assert done.code == 1
    assert "problems." in done.out


def test_status_shows_what_is_durable(crawl: Crawl) -> None:
    told = run("status", str(crawl.directory))
    assert told.code == 0
    assert told.out.startswith("done, commit ")
    counters = run("status", str(crawl.directory), "--json").json()["counters"]
    assert (counters["visits"], counters["queued"], counters["outcomes"]["stored"]) == (8, 0, 5)


@pytest.mark.parametrize(
    ("path", "story"),
    [
        ("/", ["stored (new, status 200), try 1", "kept in archive/", "linked from", "its host is qualified"]),
        ("/gone", ["gone (http-404, status 404), try 1, found on"]),
        ("/moved", ["redirected (http-302, status 302)"]),
        ("/private/x", ["denied (robots), try 1"]),
        ("/never", ["is not known: nothing that was fetched links to it"]),
    ],
)
def test_why_tells_the_story_of_a_url(crawl: Crawl, path: str, story: list[str]) -> None:
    done = run("why", str(crawl.directory), crawl.site + path)
    assert done.code == 0
    assert [line for line in story if line not in done.out] == [], done.out


def test_why_names_what_the_crawl_knows_under_another_scheme_or_port(crawl: Crawl) -> None:
    done = run("why", str(crawl.directory), f"{crawl.site.partition('://')[2]}/a")
    assert (done.code, f"The crawl knows {crawl.site}/a" in done.words) == (0, True)


def test_why_knows_what_scope_refuses_and_speaks_json(crawl: Crawl) -> None:
    assert "is outside the scope `host`" in run("why", str(crawl.directory), "http://elsewhere.test/").words
    story = run("why", str(crawl.directory), f"{crawl.site}/a", "--json").json()
    assert [visit["outcome"] for visit in story["visits"]] == ["stored"]
    assert story["page"][0]["title"] == "first"
    assert {link["source"] for link in story["linked_from"]} == {f"{crawl.site}/", f"{crawl.site}/b"}


def test_query_answers_as_table_and_as_json(crawl: Crawl) -> None:
    done = run("query", str(crawl.directory), "select title from pages order by title limit 2")
    assert done.code == 0
    assert "first" in done.out
    assert crawl.ask("select count(*) as pages from pages") == [{"pages": 5}]
    assert run("query", str(crawl.directory), "select nothing from pages").code == 1


def test_config_show_names_every_value_and_its_origin(crawl: Crawl) -> None:
    done = run("config", "show", str(crawl.directory))
    assert done.code == 0
    found = run("config", "show", str(crawl.directory), "--json").json()
    assert found["contact"] == {"value": "me@a.test", "origin": "command line"}
    assert found["connections"] == {"value": 64, "origin": "default"}
    assert found["router.max_depth"] == {"value": 20, "origin": "options"}
    assert found["gate.delay_s"] == {"value": 0.0, "origin": "options"}
    assert found["effects.retry_s"] == {"value": 30.0, "origin": "default"}
    assert all(name in done.out for name in found)


def test_graph_draws_the_wiring_of_a_crawl(crawl: Crawl, tmp_path: Path) -> None:
    done = run("graph", str(crawl.directory))
    assert done.code == 0
    assert sorted(done.out.splitlines()) == sorted(run("graph", "standalone").out.splitlines())
    assert run("graph", str(crawl.directory), "--format", "mermaid").out.startswith("flowchart")
    done = run("graph", str(tmp_path))
    assert done.code == 2
    assert "job.toml is not there" in done.words


def test_a_finished_crawl_is_resumed_to_the_same_end(crawl: Crawl, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(crawl.directory, copy)
    done = run("resume", str(copy), "--json")
    assert done.code == 0, done.words
    assert done.json()["visited"] == 8


def test_a_directory_that_holds_a_crawl_is_not_begun_again(crawl: Crawl) -> None:
    done = run("crawl", f"{crawl.site}/", "--into", str(crawl.directory), *OWN)
    assert done.code == 2
    assert f"holds a crawl; go on with `whimbrel resume {crawl.directory}`" in done.err


def test_a_crawl_that_stops_early_says_how_to_go_on_and_does(crawl: Crawl, tmp_path: Path) -> None:
    into = tmp_path / "out"
    done = run("crawl", f"{crawl.site}/", "--into", str(into), "--max-pages", "2", *OWN)
    assert done.code == 0, "it ended as asked"
    advice = f"--max-pages 2 is reached. Raise it to go on: whimbrel resume {into} --max-pages"
    assert advice in done.words
    again = run("resume", str(into))
    assert again.code == 0, "the limit holds"
    assert advice in again.words
    more = run("resume", str(into), "--set", "frontier.max_pages=3")
    assert (more.code, "To continue" in more.words) == (0, False)
    done = run("resume", str(into), "--max-pages", "100")
    assert done.code == 0, done.words
    once_more = run("resume", str(into))
    assert (once_more.code, "nothing is left to do" in once_more.words) == (0, True)
    assert Crawl(into, crawl.site, done).ends() == ENDS
    assert run("verify", str(into)).code == 0


@pytest.mark.parametrize(("option", "value"), [("--max-time", "2.5s"), ("--max-bytes", "100")])
def test_a_limit_of_time_or_bytes_ends_a_crawl_as_asked(crawl: Crawl, tmp_path: Path, option: str, value: str) -> None:
    own = ("--delay", "0.5s", "--allow-network", "127.0.0.0/8")
    done = run("crawl", f"{crawl.site}/", "--into", str(tmp_path / "out"), option, value, *own)
    assert done.code == 0, done.words
    assert f"stopping: {option}" in done.words
    assert f"is reached. Raise it to go on: whimbrel resume {tmp_path / 'out'} {option}" in done.words


def test_seeds_come_from_files_and_from_standard_input_too(crawl: Crawl, tmp_path: Path) -> None:
    (tmp_path / "seeds.txt").write_text(f"# mine\n\n  {crawl.site}/a  \n{crawl.site}/b\n")
    common = ("--scope", "page", *OWN)
    done = run("crawl", "--seeds", str(tmp_path / "seeds.txt"), "--into", str(tmp_path / "file"), *common)
    assert done.code == 0, done.words
    assert set(Crawl(tmp_path / "file", crawl.site, done).ends()) == {"/a", "/b"}
    named = f"{crawl.site}/"
    done = run("crawl", named, "--seeds", "-", "--into", str(tmp_path / "in"), *common, stdin=f"{crawl.site}/b\n")
    assert done.code == 0, done.words
    assert set(Crawl(tmp_path / "in", crawl.site, done).ends()) == {"/", "/b"}


def test_a_job_file_is_weaker_than_the_environment_and_that_than_the_command_line(
    crawl: Crawl, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "job.toml").write_text(
        f'seeds = ["{crawl.site}/b"]\nscope = "page"\ndelay = "9s"\nallow_network = ["127.0.0.0/8"]\nmax_pages = 7\n'
        "[set.effects]\nretry_s = 3.5\n"
    )
    monkeypatch.setenv("WHIMBREL_DELAY", "0s")
    monkeypatch.setenv("WHIMBREL_MAX_PAGES", "6")
    into = str(tmp_path / "out")
    done = run("crawl", "--job", str(tmp_path / "job.toml"), "--into", into, "--max-pages", "5")
    assert done.code == 0, done.words
    shown = run("config", "show", into, "--json").json()
    assert shown["scope"] == {"value": "page", "origin": str(tmp_path / "job.toml")}
    assert shown["delay"] == {"value": 0.0, "origin": "environment"}
    assert shown["max_pages"] == {"value": 5, "origin": "command line"}
    assert shown["frontier.max_pages"] == {"value": 5, "origin": "options"}
    assert shown["effects.retry_s"] == {"value": 3.5, "origin": str(tmp_path / "job.toml")}


def test_a_dry_run_touches_nothing(tmp_path: Path) -> None:
    done = run("crawl", "a.test", "--into", str(tmp_path / "out"), "--dry-run")
    assert done.code == 0
    assert "The job is sound" in done.out
    assert not (tmp_path / "out").exists()


def own_wiring(directory: Path, old: str, new: str) -> str:
    """A file with the standalone wiring, one part of it exchanged."""
    shipped = Path(crawl_module.__file__).with_name("standalone.toml").read_text()
    assert old in shipped
    (directory / "own.toml").write_text(shipped.replace(old, new))
    return str(directory / "own.toml")


SWAPS = {
    "bloom-seen": ('use = "disk-seen"', 'use = "bloom-seen"\nconfig = { urls = 1000, error = 0.000001 }'),
    "static-resolver": ('use = "dns-resolver"\nneeds = { clock = "clock" }', 'use = "static-resolver"'),
}


@pytest.mark.parametrize("swap", SWAPS)
def test_a_provider_is_swapped_by_one_line_with_the_same_result(crawl: Crawl, tmp_path: Path, swap: str) -> None:
    wiring = own_wiring(tmp_path, *SWAPS[swap])
    into = tmp_path / "out"
    done = run("crawl", f"{crawl.site}/", "--into", str(into), "--wiring", wiring, *OWN)
    assert done.code == 0, done.words
    assert Crawl(into, crawl.site, done).ends() == ENDS
    assert swap in run("graph", str(into)).out
    assert run("verify", str(into)).code == 0
    assert run("why", str(into), f"{crawl.site}/a").code == 0


def test_a_part_of_the_users_own_takes_the_place_of_ours(crawl: Crawl, tmp_path: Path) -> None:
    code = tmp_path / "own.py"
    code.write_text(
        "from __future__ import annotations\n"
        "from whimbrel.parse.parser import Parser\n"
        "class Own(Parser):\n"
        "    def process(self, fingerprinted):\n"
        "        if fingerprinted.visit.url.target == '/b': raise ValueError('no further \\x1b[2J')\n"
        "        return super().process(fingerprinted)\n"
    )
    wiring = own_wiring(tmp_path, 'use = "parser"', 'use = "Own"')
    common = (f"{crawl.site}/", "--wiring", wiring, "--with", str(code), *OWN)
    done = run("crawl", *common, "--into", str(tmp_path / "fine"), "--exclude", "*/b")
    assert done.code == 0, done.words
    done = run("crawl", *common, "--into", str(tmp_path / "bad"))
    assert done.code == 1
    assert r"parser failed in process: ValueError: no further \x1b[2J" in done.words
    assert "\x1b" not in done.out
    assert run("verify", str(tmp_path / "bad")).code == 0


def test_a_seed_that_redirects_takes_its_scope_along_also_after_a_restart(tmp_path: Path) -> None:
    pages = {
        "127.0.0.2/": page("/x", "http://127.0.0.3:{port}/", title="the new home"),
        "127.0.0.2/x": page("/y"),
        "127.0.0.2/y": page("/"),
    }
    with served(pages, "127.0.0.2") as port:
        pages["127.0.0.1/"] = moved(f"http://127.0.0.2:{port}/")
        into = tmp_path / "out"
        done = run("crawl", f"http://127.0.0.1:{port}/", "--into", str(into), "--max-pages", "2", *OWN)
        assert done.code == 0, done.words
        done = run("resume", str(into), "--set", "frontier.max_pages=100")
        assert done.code == 0, done.words
        ends = Crawl(into, f"http://127.0.0.2:{port}", done).ends()
        assert {path for path, (outcome, _) in ends.items() if outcome == "stored"} == {"/", "/x", "/y"}


def test_nothing_but_failures_is_a_failure(tmp_path: Path) -> None:
    settings = ("--set", "qualifier.max_failures=1", "--set", "qualifier.pause_s=0.01")
    done = run("crawl", "http://127.0.0.1:1/", "--into", str(tmp_path / "out"), *OWN, *settings)
    assert done.code == 1
    assert "1 URL was not crawled: robots.txt could not be obtained, which means no." in done.words
    assert "Nothing was fetched" in done.words


def test_the_demo_finds_the_truth_and_replaces_only_its_own_result(tmp_path: Path) -> None:
    done = run_alone("demo", "--into", str(tmp_path / "out"))
    assert done.code == 0, done.words
    assert "Every URL that a correct crawl finds was found" in done.words
    assert run("status", str(tmp_path / "out"), "--json").json()["state"] == "done"
    again = run("demo", "--into", str(tmp_path / "out"), "--keep")
    assert again.code == 2
    assert "holds a crawl" in again.err
    (tmp_path / "precious").mkdir()
    (tmp_path / "precious" / "file").write_text("mine")
    refused = run("demo", "--into", str(tmp_path / "precious"))
    assert (refused.code, refused.out) == (2, "")
    assert "is not an empty directory" in refused.err
    assert (tmp_path / "precious" / "file").read_text() == "mine"
