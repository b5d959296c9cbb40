"""A crawl whose files were harmed: every command that reads it says so in a line, and none shows a traceback."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

import whimbrel
from tests.cli.command import Done, run
from tests.job.site import page, served
from whimbrel.commit.committed import read_committed

PAGES = {
    "/robots.txt": (404, {}, ""),
    "/": page(*(f"/{number}" for number in range(20)), title="home"),
    **{f"/{number}": page("/", title=f"page {number}") for number in range(20)},
}
HANDLERS = 'import whimbrel as w\n@w.handler(mime="text/html")\ndef nothing(page):\n    yield from ()\n'


@pytest.fixture(scope="module")
def stopped(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A crawl with work left, and the URL of a page that it has."""
    directory = tmp_path_factory.mktemp("damage") / "out"
    with served(PAGES) as port:
        site = f"http://127.0.0.1:{port}/"
        crawl = whimbrel.Crawl(site, delay=0.0, allow_network=["127.0.0.0/8"], max_pages=8, contact="a@example.org")
        assert crawl.run(directory).state == "stopped"
    (directory.parent / "handlers.py").write_text(HANDLERS)
    return directory, site


def _commands(crawl: Path, site: str, handlers: Path) -> dict[str, list[str]]:
    return {
        "status": ["status", str(crawl)],
        "query": ["query", str(crawl), "select count(title) from pages"],
        "body": ["query", str(crawl), "select sum(octet_length(body(url))) from pages"],
        "get": ["get", str(crawl), site],
        "why": ["why", str(crawl), site],
        "verify": ["verify", str(crawl)],
        "reparse": ["reparse", str(crawl), "--with", str(handlers)],
        "resume": ["resume", str(crawl), "--max-pages", "9"],
        "config": ["config", "show", str(crawl)],
        "graph": ["graph", str(crawl)],
    }


COMMANDS = list(_commands(Path(), "", Path()))


def _no_list(crawl: Path) -> None:
    (crawl / "COMMITTED").write_bytes(b"nonsense")


def _shorter_segment(crawl: Path) -> None:
    path = crawl / next(iter(read_committed(crawl).archive()))
    path.write_bytes(path.read_bytes()[:100])


def _other_segment(crawl: Path) -> None:
    path = crawl / next(iter(read_committed(crawl).archive()))
    path.write_bytes(b"?" * path.stat().st_size)


def _lost_segment(crawl: Path) -> None:
    (crawl / next(iter(read_committed(crawl).archive()))).unlink()


def _tables(crawl: Path) -> list[Path]:
    committed = read_committed(crawl)
    return [crawl / name for name in (*committed.facts(), *committed.parquet)]


def _other_tables(crawl: Path) -> None:
    for path in _tables(crawl):
        path.write_bytes(b"?" * path.stat().st_size)


def _shorter_tables(crawl: Path) -> None:
    for path in _tables(crawl):
        path.write_bytes(path.read_bytes()[:-9])


def _lost_tables(crawl: Path) -> None:
    for path in _tables(crawl):
        path.unlink()


def _no_state(crawl: Path) -> None:
    for path in (crawl / "state").iterdir():
        if path.name.startswith(("MANIFEST", "CURRENT")):
            path.write_bytes(b"nonsense")


def _no_job(crawl: Path) -> None:
    (crawl / "job.toml").write_text("no = [toml")


HARMS: dict[Callable[[Path], None], set[str]] = {
    _no_list: {"status", "query", "body", "get", "why", "verify", "reparse"},
    _shorter_segment: {"body", "get", "verify", "reparse", "resume"},
    _other_segment: {"body", "get", "verify"},
    _lost_segment: {"body", "get", "verify", "reparse", "resume"},
    _other_tables: {"query", "body", "get", "why", "verify", "reparse", "resume"},
    _shorter_tables: {"query", "body", "get", "why", "verify", "reparse", "resume"},
    _lost_tables: {"query", "body", "get", "why", "verify", "reparse", "resume"},
    _no_state: {"reparse", "resume"},
    _no_job: {"why", "reparse", "resume", "config", "graph"},
}
"""Each with the commands that cannot do their work then."""


@pytest.mark.parametrize("harm", HARMS, ids=lambda harm: harm.__name__.strip("_"))
def test_every_command_that_reads_a_damaged_crawl_says_so_and_shows_no_traceback(
    harm: Callable[[Path], None], stopped: tuple[Path, str], tmp_path: Path
) -> None:
    whole, site = stopped
    found: dict[str, Done] = {}
    for name in COMMANDS:
        crawl = tmp_path / name
        shutil.copytree(whole, crawl)
        harm(crawl)
        found[name] = run(*_commands(crawl, site, whole.parent / "handlers.py")[name])
    assert [name for name, done in found.items() if "Traceback" in done.words] == []
    assert {name for name, done in found.items() if done.code in (1, 2)} == HARMS[harm]
    assert [name for name in HARMS[harm] if len(found[name].words) < 10] == []
