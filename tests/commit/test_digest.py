"""COMMITTED lists the digest of every file that is complete, and `verify` compares them."""

import hashlib
import shutil
import zlib
from pathlib import Path

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import whimbrel as w
from tests.cli.command import run
from tests.job.site import page, served
from whimbrel.commit.committed import Committed, CommittedDamaged, decode, encode, read_committed
from whimbrel.commit.digest import FileDigests, file_digest
from whimbrel.commit.verify import verify_files

PAGES = {"/robots.txt": (404, {}, ""), "/": page(*(f"/{number}" for number in range(30)), title="home")} | {
    f"/{number}": page(title=f"page {number} " + "words " * 200) for number in range(30)
}
SETTINGS = {"journal": {"segment_bytes": 4_000, "tail_bytes": 4_000, "every_s": 0.02}}


def sha256(path: Path) -> str:
    return "sha256:" + hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A crawl of many segments and Parquet files."""
    into = tmp_path_factory.mktemp("done") / "out"
    with served(PAGES) as port:
        w.Crawl(f"http://127.0.0.1:{port}", delay=0.0, allow_network=["127.0.0.0/8"], set=SETTINGS).run(into)
    return into


@pytest.fixture
def copy(done: Path, tmp_path: Path) -> Path:
    shutil.copytree(done, tmp_path / "copy")
    return tmp_path / "copy"


def test_a_crawl_that_is_done_lists_the_digests_of_all_its_files(done: Path) -> None:
    committed = read_committed(done)
    assert committed.state == "done"
    assert len(committed.archive()) > 3
    names = {*committed.archive(), *committed.parquet}
    assert committed.digests == {name: sha256(done / name) for name in names}
    assert list(verify_files(done, committed)) == []
    assert run("verify", str(done)).code == 0


@pytest.mark.parametrize("kind", ["archive", "parquet"])
def test_verify_names_the_file_in_which_a_bit_has_changed(copy: Path, kind: str) -> None:
    committed = read_committed(copy)
    name = list(committed.archive())[1] if kind == "archive" else committed.parquet[0]
    data = bytearray((copy / name).read_bytes())
    data[len(data) // 2] ^= 1
    (copy / name).write_bytes(data)
    told = run("verify", str(copy))
    assert told.code == 1
    assert f"{name} at 0: is sha256:" in told.words.replace("\n", " ")


def test_verify_names_a_parquet_file_that_is_gone(copy: Path) -> None:
    committed = read_committed(copy)
    (copy / committed.parquet[0]).unlink()
    assert [(problem.file, problem.what) for problem in verify_files(copy, committed)] == [
        (committed.parquet[0], "missing")
    ]


def test_verify_names_a_parquet_file_whose_rows_are_not_those_of_its_commits(copy: Path) -> None:
    committed = msgspec.structs.replace(read_committed(copy), digests={})
    name = next(name for name in committed.parquet if "/captures-" in name)
    table = pq.read_table(copy / name)
    said = (pq.read_metadata(copy / name).metadata or {})[b"whimbrel.commits"]
    longer = pa.concat_tables([table, table.slice(0, 1)]).replace_schema_metadata({"whimbrel.commits": said.decode()})
    pq.write_table(longer, copy / name)
    (problem,) = verify_files(copy, committed)
    assert problem.what == f"has {table.num_rows + 1} rows; its commits have {table.num_rows}"


def test_a_commit_of_an_earlier_version_has_no_digests(copy: Path) -> None:
    committed = read_committed(copy)
    old = msgspec.json.decode(encode(committed).partition(b" ")[2])
    del old["digests"]
    body = msgspec.json.encode(old)
    assert decode(b"%08x %b\n" % (zlib.crc32(body), body), "here").digests == {}
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(old), type=Committed).digests == {}


def test_a_commit_that_nobody_would_write_is_damage() -> None:
    for body in (b'{"counters":' + b"[" * 100_000, b'{"files":{"\xff":1}}', b'{"format":"x"}', b"[]"):
        with pytest.raises(CommittedDamaged):
            decode(b"%08x %b\n" % (zlib.crc32(body), body), "here")


def test_a_digest_grows_with_its_file_and_is_known_when_that_is_sealed(tmp_path: Path) -> None:
    digests, path = FileDigests(tmp_path, {}), tmp_path / "a"
    path.write_bytes(b"one two three")
    digests.advance({"a": 4}, [], 100)
    assert digests.known == {}
    digests.advance({"a": 13}, ["a"], 5)
    assert digests.known == {}, "not all of it was read"
    digests.advance({"a": 13}, ["a"], 100)
    assert digests.known == {"a": sha256(path)} == {"a": file_digest(path, 13)}


def test_a_file_that_is_opened_again_loses_its_digest_and_gets_another(tmp_path: Path) -> None:
    digests, path = FileDigests(tmp_path, {"a": "sha256:old", "b": "sha256:b"}), tmp_path / "a"
    assert digests.listed(["b"]) == {"b": "sha256:b"}
    path.write_bytes(b"longer now")
    digests.advance({"a": 10, "b": 3}, ["a", "b"], 100)
    assert digests.listed(["a", "b"]) == {"a": sha256(path), "b": "sha256:b"}


def test_a_file_that_cannot_be_read_holds_nothing_up(tmp_path: Path) -> None:
    digests = FileDigests(tmp_path, {})
    (tmp_path / "b").write_bytes(b"b")
    digests.advance({"gone": 10, "b": 1}, ["gone", "b"], 100)
    assert list(digests.known) == ["b"]


def test_verify_does_not_call_intact_what_it_could_not_check(copy: Path) -> None:
    told = run("verify", str(copy))
    assert "all tables and the state are intact." in told.words
    assert "digest" not in told.words
    bare = msgspec.structs.replace(read_committed(copy), digests={}, number=0)
    (copy / "COMMITTED").write_bytes(encode(bare))
    told = run("verify", str(copy))
    assert told.code == 0
    assert f"{len(bare.parquet)} Parquet files have no digest" in told.words
