"""What `resume` mends, and what it refuses: then nothing has been changed."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from rocksdict import Options, Rdict
from typer.testing import CliRunner

from tests.fault.crawl import Result, assert_readable, assert_whole, crawl_command, ended, resume_command
from tests.sim.web import Served
from whimbrel.cli.app import application
from whimbrel.commit.committed import NotACrawl, read_committed
from whimbrel.state.api import SPACES

SETTINGS = {"journal.every_s": 0.05, "journal.segment_bytes": 30_000, "journal.crash_at": "facts-synced:8"}


@pytest.fixture(scope="module")
def killed(small: Served, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A crawl that was killed in the middle of a commit, so that there is something to cut."""
    into = tmp_path_factory.mktemp("killed")
    ended(crawl_command(small, into / "crawl", "20ms", **SETTINGS), into / "log")
    assert read_committed(into / "crawl").number == 7
    return into / "crawl"


@pytest.fixture
def crawl(killed: Path, tmp_path: Path) -> Path:
    shutil.copytree(killed, tmp_path / "crawl")
    return tmp_path / "crawl"


@pytest.mark.parametrize("content", [None, b"nonsense"])
def test_a_published_commit_that_is_lost_or_damaged_is_written_anew(
    crawl: Path, small: Served, small_result: Result, content: bytes | None
) -> None:
    path = crawl / "COMMITTED"
    if content is None:
        path.unlink()
    else:
        path.write_bytes(content)
    with pytest.raises(NotACrawl, match="not committed anything" if content is None else "resume"):
        read_committed(crawl)
    log = crawl.with_suffix(".log")
    if content is None:
        assert ended(resume_command(crawl), log) == 0
        assert_whole(crawl, small_result, small)
    else:
        # Killed as soon as it is there: what was written is the last commit and not a later one.
        ended(resume_command(crawl, "journal.crash_at=recovery-published"), log)
        assert assert_readable(crawl).number == 7


def files(crawl: Path) -> dict[str, bytes]:
    """All but the database's own, which tidies up whenever it is opened, and where a crawl can be reached while it
    runs."""
    found = [path for path in crawl.rglob("*") if path.is_file() and "state" not in path.relative_to(crawl).parts]
    found = [path for path in found if path.name != "control.json"]
    return {path.relative_to(crawl).as_posix(): path.read_bytes() for path in found}


def shorten(path: Path, length: int) -> None:
    path.write_bytes(path.read_bytes()[:length])


def cut_segment(crawl: Path) -> str:
    name, length = next(iter(read_committed(crawl).archive().items()))
    shorten(crawl / name, length - 1)
    return f"{name} has "


def lose_segment(crawl: Path) -> str:
    name = next(iter(read_committed(crawl).archive()))
    (crawl / name).unlink()
    return f"{name} is missing"


def cut_tail(crawl: Path) -> str:
    name, length = next(iter(read_committed(crawl).facts().items()))
    shorten(crawl / name, length - 1)
    return f"{name} has "


def damage_tail(crawl: Path) -> str:
    """As long as it should be, so that only the tables themselves can tell."""
    name = next(iter(read_committed(crawl).facts()))
    data = (crawl / name).read_bytes()
    (crawl / name).write_bytes(b"?" + data[1:])
    return f"{name} is damaged"


def rewrite_format(crawl: Path) -> str:
    with_format(crawl, b"3")
    return "has format 3; this version of Whimbrel reads 2"


def add_space(crawl: Path) -> str:
    options = Options(raw_mode=True)
    database = Rdict(str(crawl / "state"), options, column_families={space: Options(raw_mode=True) for space in SPACES})
    database.create_column_family("invention", Options(raw_mode=True)).close()
    database.close()
    return "was written by a later version of Whimbrel"


def with_format(crawl: Path, value: bytes) -> None:
    families = {space: Options(raw_mode=True) for space in SPACES}
    database = Rdict(str(crawl / "state"), Options(raw_mode=True), column_families=families)
    meta = database.get_column_family("meta")
    assert meta[b"format"] == b"2"
    meta[b"format"] = value
    meta.close()
    database.close()


@pytest.mark.parametrize("harm", [cut_segment, lose_segment, cut_tail, damage_tail, rewrite_format, add_space])
def test_a_resume_that_must_refuse_says_why_and_changes_nothing(crawl: Path, harm: Callable[[Path], str]) -> None:
    expected = harm(crawl)
    before = files(crawl)
    log = crawl.with_suffix(".log")
    assert ended(resume_command(crawl), log) in (1, 2)
    assert expected in log.read_text()
    assert "Traceback" not in log.read_text()
    assert files(crawl) == before


def test_a_directory_without_a_crawl_is_named(tmp_path: Path) -> None:
    done = CliRunner().invoke(application(), ["resume", str(tmp_path)])
    assert done.exit_code != 0
    assert "holds no crawl" in str(done.exception)
