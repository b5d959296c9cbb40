"""WARC files that somebody has made to do harm, or that a full disk has cut."""

import gzip
import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.command import run
from tests.fault.crawl import rows

_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n"


def record(number: int, body: bytes, length: int | None = None, **fields: str) -> bytes:
    block = _HEAD + body
    lines = {
        "WARC-Type": "response",
        "WARC-Target-URI": f"http://a.test/{number}",
        "WARC-Date": "2026-01-01T00:00:00Z",
        "WARC-Record-ID": f"<urn:uuid:00000000-0000-0000-0000-{number:012}>",
        "Content-Type": "application/http; msgtype=response",
        **fields,
        "Content-Length": str(len(block) if length is None else length),
    }
    head = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
    return b"WARC/1.1\r\n" + head.encode() + b"\r\n" + block + b"\r\n\r\n"


def metadata(number: int, *lines: str) -> bytes:
    body = "".join(f"{line}\r\n" for line in lines).encode()
    head = (
        f"WARC/1.1\r\nWARC-Type: metadata\r\nWARC-Target-URI: http://a.test/{number}\r\n"
        f"WARC-Date: 2026-01-01T00:00:00Z\r\nWARC-Record-ID: <urn:uuid:10000000-0000-0000-0000-{number:012}>\r\n"
        f"WARC-Refers-To: <urn:uuid:00000000-0000-0000-0000-{number:012}>\r\n"
        f"Content-Type: application/warc-fields\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body + b"\r\n\r\n"


def import_of(tmp_path: Path, data: bytes) -> Path:
    file = tmp_path / "in.warc.gz"
    file.write_bytes(data)
    done = run("import", str(file), "--into", str(tmp_path / "out"), "--json")
    assert done.code == 0, done.words
    assert "Traceback" not in done.words
    return tmp_path / "out"


def used_kb(file: Path, out: Path) -> int:
    """The most memory that an import takes."""
    # Not ru_maxrss: a child begins with that of the process that it was forked from.
    script = (
        "import re, sys; from whimbrel.cli.app import main\n"
        "sys.argv = ['whimbrel', 'import', sys.argv[1], '--into', sys.argv[2]]\n"
        "try:\n    main()\nfinally:\n"
        "    print(re.search(r'VmHWM:\\s+(\\d+)', open('/proc/self/status').read())[1], file=sys.stderr)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(file), str(out)], capture_output=True, timeout=120, check=True
    )
    return int(done.stderr.split()[-1])


def long_head(kind: str) -> bytes:
    """A record with a head of 30 MB: its own, its own in one folded line, or that of HTTP."""
    begin = record(1, b"")
    begin = begin[: begin.index(b"Content-Length")]
    lines = b"a: b\r\n" * 5_000_000
    if kind == "of HTTP":
        return b"%bContent-Length: %d\r\n\r\n%b%b\r\n\r\n" % (begin, len(_HEAD + lines), _HEAD[:-2], lines)
    return begin + (b"X: a\r\n" + b" b\r\n" * 7_000_000 if kind == "folded" else lines) + b"\r\n"


@pytest.mark.parametrize(("kind", "after"), [("of a record", False), ("folded", False), ("of HTTP", True)])
def test_a_head_of_30_megabytes_stays_in_little_memory_and_the_records_around_it_are_read(
    kind: str, after: bool, tmp_path: Path
) -> None:
    file = tmp_path / "bomb.warc.gz"
    bodies = (record(2, b"<title>fine</title>"), long_head(kind), record(3, b"<title>fine, too</title>"))
    file.write_bytes(b"".join(gzip.compress(body, 1) for body in bodies))
    assert used_kb(file, tmp_path / "out") < 400_000
    found = [row["url"] for row in rows(tmp_path / "out", "select url from pages order by url")]
    assert found == ["http://a.test/2", "http://a.test/3"][: 2 if after else 1]


def test_a_small_file_with_a_gigabyte_of_zeros_stays_in_little_memory(tmp_path: Path) -> None:
    zeros, file = bytes(1 << 20), tmp_path / "bomb.warc.gz"
    with gzip.open(file, "wb", compresslevel=9) as out:
        out.write(record(1, b"", len(_HEAD) + 400 * len(zeros)).removesuffix(b"\r\n\r\n"))
        for _ in range(400):
            out.write(zeros)
        out.write(b"\r\n\r\n")
    with file.open("ab") as more:
        more.write(gzip.compress(record(2, b"<title>fine</title>")))
    assert file.stat().st_size < 1_000_000
    assert used_kb(file, tmp_path / "out") < 400_000
    found = rows(tmp_path / "out", "select url, wire_bytes, truncated from pages order by url")
    assert [(row["wire_bytes"], row["truncated"]) for row in found] == [(20_000_000, "length"), (19, "")]


@pytest.mark.parametrize("keep", [0.3, 0.5, 0.9, 0.97])
def test_a_file_that_was_cut_gives_what_it_holds(tmp_path: Path, keep: float) -> None:
    whole = b"".join(gzip.compress(record(number, b"<p>%d</p>" % number * 2_000)) for number in range(10))
    out = import_of(tmp_path, whole[: int(len(whole) * keep)])
    assert int(keep * 10) <= len(rows(out, "select url from pages")) <= int(keep * 10) + 1


def test_a_file_with_damage_in_the_middle_is_taken_up_to_there_and_the_rest_is_counted(tmp_path: Path) -> None:
    parts = [gzip.compress(record(number, b"<p>%d</p>" % number * 500)) for number in range(4)]
    parts[2] = parts[2][:40] + bytes(40) + parts[2][80:]
    file = tmp_path / "in.warc.gz"
    file.write_bytes(b"".join(parts))
    done = run("import", str(file), "--into", str(tmp_path / "out"), "--json")
    assert done.code == 0, done.words
    assert json.loads(done.out)["passed_over"] >= 1
    assert len(rows(tmp_path / "out", "select url from pages")) >= 2


@pytest.mark.parametrize(
    "line",
    [
        "fetchTimeMs: " + "9" * 400,
        "fetchTimeMs: " + "9" * 5_000,
        "hopsFromSeed: 99999999999999999999",
        "fetchTimeMs: -1",
    ],
)
def test_numbers_without_end_in_metadata_block_nothing(tmp_path: Path, line: str) -> None:
    out = import_of(tmp_path, record(1, b"<p>one</p>") + metadata(1, line) + record(2, b"<p>two</p>"))
    assert len(rows(out, "select url from pages")) == 2


def test_a_record_that_declares_more_than_it_holds_says_so(tmp_path: Path) -> None:
    out = import_of(tmp_path, record(1, b"<p>" + b"x" * 300, 10**15))
    (found,) = rows(out, "select truncated from pages")
    assert found["truncated"] == "unspecified"


def test_an_import_whose_list_was_emptied_goes_on(tmp_path: Path) -> None:
    file, out = tmp_path / "in.warc", tmp_path / "out"
    file.write_bytes(record(1, b"<p>one</p>"))
    out.mkdir()
    (out / "import.json").write_bytes(b"")
    assert run("import", str(file), "--into", str(out)).code == 0
    assert len(rows(out, "select url from pages")) == 1
