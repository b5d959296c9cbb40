"""A crawl whose files were harmed: every command that reads it says so in a line, and none shows a traceback."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

import whimbrel
from tests.cli.command import Done, run
from tests.job.site import page, served
from whimbrel.commit.committed import read_committed
from whimbrel.error import Damaged

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


def _swapped_tables(crawl: Path) -> None:
    tables = sorted(path for path in _tables(crawl) if path.suffix == ".parquet")
    bodies = [path.read_bytes() for path in tables]
    for path, body in zip(tables, (*bodies[1:], bodies[0]), strict=True):
        path.write_bytes(body)


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
    _other_segment: {"body", "get", "verify", "reparse"},
    _lost_segment: {"body", "get", "verify", "reparse", "resume"},
    _other_tables: {"query", "body", "get", "why", "verify", "reparse", "resume"},
    _shorter_tables: {"query", "body", "get", "why", "verify", "reparse", "resume"},
    _swapped_tables: {"query", "body", "get", "why", "verify", "reparse"},
    _lost_tables: {"query", "body", "get", "why", "verify", "reparse", "resume"},
    _no_state: {"verify", "reparse", "resume"},
    _no_job: {"reparse", "resume", "config", "graph"},
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
    assert [name for name, done in found.items() if "Traceback (most recent" in done.words] == []
    assert {name for name, done in found.items() if done.code in (1, 2)} == HARMS[harm]
    assert [name for name in HARMS[harm] if len(found[name].words) < 10] == []


DAMAGED = (_shorter_segment, _other_segment, _lost_segment, _other_tables, _swapped_tables, _lost_tables)


@pytest.mark.parametrize("harm", DAMAGED, ids=lambda harm: harm.__name__.strip("_"))
def test_damage_is_told_by_its_kind_and_with_what_to_do(
    harm: Callable[[Path], None], stopped: tuple[Path, str], tmp_path: Path
) -> None:
    whole, site = stopped
    crawl = tmp_path / "out"
    shutil.copytree(whole, crawl)
    harm(crawl)
    commands = _commands(crawl, site, whole.parent / "handlers.py")
    for name in HARMS[harm] & {"query", "body", "get", "why"}:
        assert "`whimbrel verify DIR` names everything that is damaged" in " ".join(run(*commands[name]).words.split())
    with pytest.raises(Damaged):
        whimbrel.open(crawl).sql("SELECT title, text, body(url) FROM pages")
    with pytest.raises(Damaged):
        whimbrel.open(crawl).get(site)


@pytest.mark.parametrize("sql", ["select count(*) from pages", "select * from events"])
def test_a_column_whose_name_is_no_text_any_more_is_damage_of_a_file_that_is_named(
    stopped: tuple[Path, str], tmp_path: Path, sql: str
) -> None:
    crawl = tmp_path / "out"
    shutil.copytree(stopped[0], crawl)
    path = next(path for path in _tables(crawl) if path.name.startswith("events"))
    data = path.read_bytes()
    at = data.index(b"actor")  # Of the schema, which stands before the places of the columns.
    path.write_bytes(data[:at] + b"\xff" + data[at + 1 :])
    for command in (["query", str(crawl), sql], ["why", str(crawl), stopped[1]], ["get", str(crawl), stopped[1]]):
        told = run(*command)
        assert told.code == 1
        assert path.name in told.words
        assert "`whimbrel verify DIR` names everything" in told.words


def test_a_byte_that_changed_in_a_table_is_damage_and_no_mistake_of_the_question(
    stopped: tuple[Path, str], tmp_path: Path
) -> None:
    crawl = tmp_path / "out"
    shutil.copytree(stopped[0], crawl)
    path = next(path for path in _tables(crawl) if path.name.startswith("captures"))
    data = bytearray(path.read_bytes())
    data[len(data) // 8 : len(data) // 4] = b"?" * (len(data) // 4 - len(data) // 8)
    path.write_bytes(data)
    with pytest.raises(Damaged):
        whimbrel.open(crawl).sql("SELECT * FROM captures")
    with pytest.raises(whimbrel.QueryFailed):
        whimbrel.open(crawl).sql("SELECT nothing FROM captures")


def _half_a_state(crawl: Path) -> None:
    for path in (crawl / "state").glob("*.sst"):
        path.unlink()


@pytest.mark.parametrize(
    "harm",
    [_shorter_segment, _lost_segment, _other_tables, _lost_tables, _half_a_state, _no_state],
    ids=lambda harm: harm.__name__.strip("_"),
)
def test_a_crawl_that_cannot_go_on_for_damage_is_not_advised_to_resume(
    harm: Callable[[Path], None], stopped: tuple[Path, str], tmp_path: Path
) -> None:
    crawl = tmp_path / "out"
    shutil.copytree(stopped[0], crawl)
    harm(crawl)
    done = run("resume", str(crawl), "--max-pages", "100")
    assert done.code == 1, done.words
    assert "To continue:" not in done.words
    assert f"whimbrel resume {crawl}" not in done.words
