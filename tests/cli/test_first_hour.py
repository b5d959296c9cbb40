"""What a newcomer tries, and gets wrong, in the first hour."""

import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

import whimbrel
from tests.cli.command import run, run_alone
from tests.job.site import page, served
from whimbrel.query.rows import Rows

NETSCAPE = "# Netscape HTTP Cookie File\n\n127.0.0.1\tFALSE\t/\tFALSE\t0\ttoken\tsecret\n"


@pytest.fixture(scope="module")
def site() -> Iterator[str]:
    robots = (200, {"Content-Type": "text/plain"}, "User-agent: *\nDisallow: /private\n")
    with served({"/": page("/gone"), "/robots.txt": robots}) as port:
        yield f"http://127.0.0.1:{port}"


def test_the_bare_command_prints_its_help() -> None:
    done = run_alone()
    assert "Usage: python -m whimbrel" in done.words
    assert "Traceback" not in done.words


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ('[{"domain": "a.test", "name": "token", "value": "secret"}]', "is not a cookie file: it is JSON"),
        ("token=secret; path=/\n", "is not a cookie file: line 1 is no cookie"),
        (f"{NETSCAPE}half a line\n", "is not a cookie file: line 4 is no cookie"),
        ("# nothing\n\n", "holds no cookie"),
        ("Set-Cookie: token=secret; path=/\n", "is not a cookie file: line 1 is no cookie"),
    ],
)
def test_a_file_that_holds_no_cookies_is_refused_before_anything_is_touched(
    site: str, tmp_path: Path, text: str, why: str
) -> None:
    (tmp_path / "cookies").write_text(text)
    done = run("crawl", f"{site}/", "--into", str(tmp_path / "out"), "--cookies", str(tmp_path / "cookies"))
    assert done.code == 2
    assert why in done.words
    assert "Netscape" in done.words
    assert not (tmp_path / "out").exists()


def test_a_line_that_libcurl_would_fail_every_request_for_is_refused(site: str, tmp_path: Path) -> None:
    (tmp_path / "cookies").write_text(f"# {'x' * 6_000}\n{NETSCAPE}")
    done = run("crawl", f"{site}/", "--into", str(tmp_path / "out"), "--cookies", str(tmp_path / "cookies"))
    assert done.code == 2
    assert "line 1 of" in done.words
    assert "6,002 bytes" in done.words.replace("\n", " ")


@pytest.mark.parametrize("text", [NETSCAPE, NETSCAPE.replace("127.0.0.1", "#HttpOnly_127.0.0.1")])
def test_a_cookie_file_is_taken(site: str, tmp_path: Path, text: str) -> None:
    (tmp_path / "cookies").write_text(text)
    done = run(
        "crawl", f"{site}/", "--into", str(tmp_path / "out"), "--cookies", str(tmp_path / "cookies"), "--dry-run"
    )
    assert done.code == 0, done.words


def test_a_seed_that_is_no_url_is_named_with_its_file_and_line(tmp_path: Path) -> None:
    (tmp_path / "seeds.txt").write_text("# mine\nhttp://a.test/\nftp://b.test/x\n")
    done = run("crawl", "--seeds", str(tmp_path / "seeds.txt"), "--into", str(tmp_path / "out"))
    assert done.code == 2
    assert f"{tmp_path / 'seeds.txt'}, line 3: the seed 'ftp://b.test/x' is not an http or https URL" in done.words
    done = run("crawl", "--seeds", "-", "--into", str(tmp_path / "out"), stdin="\nhttp://[::/\n")
    assert (done.code, "standard input, line 2: the seed" in done.words) == (2, True)
    assert not (tmp_path / "out").exists()


def test_a_seed_of_a_job_file_that_is_no_url_is_named_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "job.toml").write_text('contact = "a@b.test"\nseeds = [\n  "http://a.test/",\n  "ftp://b.test/x",\n]\n')
    done = run("crawl", "--job", str(tmp_path / "job.toml"), "--into", str(tmp_path / "out"))
    assert done.code == 2
    assert f"{tmp_path / 'job.toml'}, line 4: the seed 'ftp://b.test/x' is not an http or https URL" in done.words
    assert not (tmp_path / "out").exists()


def test_config_show_prints_the_defaults_in_force(tmp_path: Path) -> None:
    (tmp_path / "job.toml").write_text('seeds = ["http://a.test/"]\n')
    shown = run("config", "show", str(tmp_path), "--json").json()
    assert shown["scope"] == {"value": "host", "origin": "default"}
    assert shown["max_depth"] == {"value": 20, "origin": "default"}
    assert shown["max_pages_per_host"]["value"] is None
    assert shown["user_agent"]["value"].startswith("whimbrel/")
    (tmp_path / "job.toml").write_text('seeds = ["http://a.test/"]\nmode = "broad"\ncontact = "me@a.test"\n')
    shown = run("config", "show", str(tmp_path), "--json").json()
    assert (shown["scope"]["value"], shown["max_pages_per_host"]["value"]) == ("any", 1_000)


def test_fetch_of_a_page_that_is_not_there_or_forbidden_ends_with_1(site: str) -> None:
    gone = run("fetch", f"{site}/gone")
    assert (gone.code, "gone (http-404)" in gone.words) == (1, True), gone.words
    denied = run("fetch", f"{site}/private")
    assert (denied.code, "robots.txt forbids this URL" in denied.words) == (1, True), denied.words
    fine = run("fetch", f"{site}/")
    assert (fine.code, "robots.txt allows this URL" in fine.words) == (0, True), fine.words
    assert "1 link " in fine.words


def test_one_visit_on_one_host_is_counted_in_the_singular(site: str, tmp_path: Path) -> None:
    done = run("crawl", f"{site}/", "--into", str(tmp_path / "out"), "--max-pages", "1", "--delay", "0s")
    assert "stopped: 1 visit on 1 host in" in done.words


def test_the_demo_without_its_libraries_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cryptography", None)
    done = run("demo", "--into", str(tmp_path / "out"))
    assert (done.code, "pip install 'whimbrel[bench]'" in done.words) == (2, True), done.words
    assert not (tmp_path / "out").exists()


def test_a_crawl_with_a_dashboard_that_is_not_installed_does_not_begin(
    site: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "nicegui", None)
    done = run("crawl", f"{site}/", "--into", str(tmp_path / "out"), "--dashboard")
    assert (done.code, "pip install 'whimbrel[dashboard]'" in done.words) == (2, True), done.words
    assert not (tmp_path / "out").exists()


def test_data_frames_without_their_library_say_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    import pyarrow as pa

    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(ModuleNotFoundError, match="polars is not installed: pip install polars"):
        Rows(pa.table({"a": [1]})).pl()
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ModuleNotFoundError, match="pandas is not installed: pip install pandas"):
        Rows(pa.table({"a": [1]})).df()


def test_filters_and_seeds_without_their_libraries_say_what_to_install(
    site: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "re2", None)
    own = ("crawl", f"{site}/", "--into", str(tmp_path / "out"))
    done = run(*own, "--set", 'router.exclude_patterns=["x+"]')
    assert (done.code, "pip install 'whimbrel[regex]'" in done.words) == (2, True), done.words
    monkeypatch.setitem(sys.modules, "psycopg", None)
    done = run(*own, "--seeds-from", "postgresql://127.0.0.1:1/none", "select 1")
    assert (done.code, "pip install 'whimbrel[postgres]'" in done.words) == (2, True), done.words
    assert not (tmp_path / "out").exists()


def test_every_extra_is_on_the_page_for_beginners_and_every_make_target_that_docs_name_is_there() -> None:
    root = Path(whimbrel.__file__).parents[2]
    page = (root / "docs" / "quick-start.md").read_text()
    extras = tomllib.loads((root / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert [name for name in extras if f"`{name}`" not in page] == []
    assert [name for name in extras if extras[name] and name != "dev" and f"whimbrel[{name}]" not in page] == []
    targets = set(re.findall(r"^([a-z-]+):", (root / "Makefile").read_text(), re.MULTILINE))
    for path in (root / "README.md", root / "CONTRIBUTING.md", *(root / "docs").glob("*.md")):
        named = set(re.findall(r"`make ([a-z-]+)[ `]", path.read_text()))
        assert named <= targets, path.name


def test_one_of_anything_is_counted_in_the_singular(site: str, tmp_path: Path) -> None:
    out, imported = tmp_path / "out", tmp_path / "import"
    run("crawl", f"{site}/", "--into", str(out), "--max-pages", "1", "--delay", "0s")
    done = run("import", *map(str, (out / "archive").glob("*.warc.gz")), "--into", str(imported))
    assert "1 capture of 1 file, 1 of them pages; 0 records passed over" in done.words
    (tmp_path / "own.py").write_text("import whimbrel as w\n\n\n@w.handler\ndef one(page):\n    1 / 0\n")
    done = run("reparse", str(out), "--with", str(tmp_path / "own.py"))
    assert "1 page in " in done.words
    assert "Handlers failed on 1 of 1 page, " in done.words
    (row,) = run("query", str(out), "select error from handled", "--format", "json").json()
    assert row["error"].splitlines()[0] == "ZeroDivisionError: division by zero"


def test_what_new_says_is_what_it_makes(tmp_path: Path, site: str) -> None:
    done = run("new", str(tmp_path / "project"))
    assert "without crawling" not in done.words
    text = (tmp_path / "project" / "handlers.py").read_text()
    assert "without crawling" not in text
    out = str(tmp_path / "out")
    command = ("crawl", f"{site}/", "--into", out, "--with", str(tmp_path / "project" / "handlers.py"))
    assert "whimbrel crawl SEED --into out --with handlers.py --max-pages 20" in text
    assert run(*command, "--max-pages", "20", "--delay", "0s").code == 0
    assert "whimbrel reparse out --with handlers.py" in text
    assert run("reparse", out, "--with", str(tmp_path / "project" / "handlers.py")).code == 0
