"""Who may call, and what is done with requests that are wrong: nothing."""

import http.client
import json
import random
import re
import socket
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlencode, urlsplit

import pytest

from tests.control.rig import RunningCrawl, crawling, request
from whimbrel.control.address import read_address
from whimbrel.control.api import ACTIONS
from whimbrel.control.openapi import description
from whimbrel.simweb.spec import WebSpec


@pytest.fixture(scope="module")
def crawl(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningCrawl]:
    """A crawl that is slow enough to be there for all tests."""
    spec = WebSpec(hosts=2, pages=10_000, latency_ms=20, robots={}, exhibits={})
    with crawling(spec, tmp_path_factory.mktemp("guarded"), "--max-pages-per-s", "5") as running:
        yield running


PATHS = ["/v1/status", "/v1/wiring", "/v1/config", "/v1/history", "/metrics"]


def effects(crawl: RunningCrawl) -> tuple[object, ...]:
    return crawl.control.config(), crawl.control.status().state, (crawl.directory / "job.toml").read_text()


def test_the_token_is_for_the_owner_alone_and_it_listens_on_loopback(crawl: RunningCrawl) -> None:
    mode = stat.S_IMODE((crawl.directory / "control.json").stat().st_mode)
    address = read_address(crawl.directory)
    assert mode == 0o600
    assert urlsplit(address.url).hostname == "127.0.0.1"
    assert len(address.token) >= 40


@pytest.mark.parametrize("most", ["0", "-1", "10001", "0001009999999", "9" * 5_000, "1e3", "\u0661", ""])
@pytest.mark.parametrize("path", ["/v1/hosts", "/v1/history"])
def test_how_many_are_wanted_has_a_bound(crawl: RunningCrawl, path: str, most: str) -> None:
    code, said = request(crawl.directory, "GET", f"{path}?{urlencode({'most': most})}")
    assert (code, json.loads(said)) == (422, {"error": "most is a number from 1 to 10000"})


@pytest.mark.parametrize(
    "headers",
    [
        {"authorization": None},
        {"authorization": ""},
        {"authorization": "Bearer "},
        {"authorization": "Bearer wrong"},
        {"authorization": "Basic d2hpbWJyZWw6d2hpbWJyZWw="},
        {"authorization": "Bearer \xff\xfe"},
    ],
)
def test_nothing_is_told_or_done_without_the_token(crawl: RunningCrawl, headers: dict[str, str | None]) -> None:
    before = effects(crawl)
    for path in PATHS:
        assert request(crawl.directory, "GET", path, None, **headers)[0] == 401
    for name in ACTIONS:
        assert request(crawl.directory, "POST", f"/v1/actions/{name}", b"{}", **headers)[0] == 401
    assert effects(crawl) == before


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://127.0.0.1:1", "https://127.0.0.1", ""])
def test_nothing_is_done_for_a_page_of_another_origin(crawl: RunningCrawl, origin: str) -> None:
    before = effects(crawl)
    assert request(crawl.directory, "POST", "/v1/actions/pause", b"{}", origin=origin)[0] == 403
    assert request(crawl.directory, "GET", "/v1/status", origin=origin)[0] == 403
    assert request(crawl.directory, "OPTIONS", "/v1/actions/pause", origin=origin)[0] == 403
    assert effects(crawl) == before


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1", "", "127.0.0.1:1", "localhost"])
def test_nothing_is_done_for_who_calls_it_by_another_name(crawl: RunningCrawl, host: str) -> None:
    assert request(crawl.directory, "POST", "/v1/actions/pause", b"{}", host=host)[0] in (400, 403)


@pytest.mark.parametrize(
    ("path", "body", "code"),
    [
        ("/v1/actions/pause", b"", 200),
        ("/v1/actions/unpause", b"{", 422),
        ("/v1/actions/unpause", b"[]", 422),
        ("/v1/actions/unpause", b'{"code": "import os"}', 422),
        ("/v1/actions/unpause", b"[" * 100_000, 422),
        ("/v1/actions/set", b'{"settings": {"a": ' + b"[" * 100_000, 422),
        ("/v1/actions/block", b"{}", 422),
        ("/v1/actions/block", b'{"what": []}', 422),
        ("/v1/actions/block", b'{"what": "a.example"}', 422),
        ("/v1/actions/block", b'{"what": ["\\ud800"]}', 422),
        ("/v1/actions/speed", b'{"pages_per_s": -1}', 422),
        ("/v1/actions/speed", b'{"pages_per_s": NaN}', 422),
        ("/v1/actions/speed", b'{"connections": 1e99}', 422),
        ("/v1/actions/requeue", b'{"outcome": "stored"}', 422),
        ("/v1/actions/allow", b'{"host": "x", "without_robots": "yes"}', 422),
        ("/v1/actions/set", b'{"settings": {"parser.use": "os.system"}}', 409),
        ("/v1/actions/unpause", b" " * 9_000_000, 413),
        ("/v1/actions/eval", b"{}", 404),
        ("/v1/actions/../status", b"{}", 404),
        ("/v1/actions/pause/", b"{}", 404),
    ],
)
def test_a_request_that_is_wrong_is_answered_with_what_is_wrong(
    crawl: RunningCrawl, path: str, body: bytes, code: int
) -> None:
    found, answer = request(crawl.directory, "POST", path, body)
    assert found == code, answer
    assert code == 200 or json.loads(answer)["error"]
    if code == 200:
        assert request(crawl.directory, "POST", "/v1/actions/unpause", b"{}")[0] == 200


def test_other_methods_and_types_are_refused(crawl: RunningCrawl) -> None:
    assert request(crawl.directory, "GET", "/v1/actions/pause")[0] == 405
    assert request(crawl.directory, "DELETE", "/v1/status")[0] == 405
    assert request(crawl.directory, "POST", "/v1/actions/pause", b"{}", content_type="text/plain")[0] == 415
    assert request(crawl.directory, "POST", "/v1/actions/pause", b"{}", content_type=None)[0] == 415


def test_a_thousand_malformed_requests_change_nothing(crawl: RunningCrawl) -> None:
    before = effects(crawl)
    where = urlsplit(read_address(crawl.directory).url)
    token = read_address(crawl.directory).token
    draw = random.Random(5)  # noqa: S311
    whole = (
        f"POST /v1/actions/pause HTTP/1.1\r\nHost: {where.netloc}\r\nAuthorization: Bearer {token}\r\n"
        "Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"
    ).encode()
    for number in range(1_000):
        broken = bytearray(whole)
        # The first word of the action's name is broken for sure: by chance a request could be sound.
        broken[draw.randrange(17, 22)] = draw.choice(b"\0\r\n\t %?#/\xff")
        for _ in range(number % 20):
            broken[draw.randrange(len(broken))] = draw.randrange(256)
        with socket.create_connection((where.hostname or "", where.port or 0), timeout=10) as connection:
            connection.sendall(bytes(broken[: draw.randrange(1, len(broken) + 1)]))
            connection.shutdown(socket.SHUT_WR)
            answer = connection.recv(100)
        assert not answer.startswith(b"HTTP/1.1 200"), bytes(broken)
    assert effects(crawl) == before


def test_the_interface_is_described_and_keeps_to_it(crawl: RunningCrawl, tmp_path: Path) -> None:
    status, found = request(crawl.directory, "GET", "/openapi.json", authorization=None)
    assert status == 200
    assert json.loads(found) == json.loads(json.dumps(description()))
    address = read_address(crawl.directory)
    hooks = tmp_path / "schemathesis.toml"
    hooks.write_text("")
    line = [
        *(sys.executable, "-m", "schemathesis.cli", "run", f"{address.url}/openapi.json", "--max-examples", "25"),
        *("--header", f"Authorization: Bearer {address.token}", "--exclude-path-regex", "actions/(stop|abort)$"),
        *("--checks", "all", "--exclude-checks", "positive_data_acceptance", "--seed", "1", "--no-color"),
    ]
    done = subprocess.run(line, capture_output=True, text=True, timeout=300, check=False, cwd=tmp_path)
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
    assert re.search(r"No issues found|[0-9]+ passed", done.stdout), done.stdout[-2000:]


def test_a_crawl_can_be_without(tmp_path: Path) -> None:
    with pytest.raises(AssertionError), crawling(WebSpec(hosts=1, pages=2), tmp_path, "--control", "off"):
        pass
    assert not (tmp_path / "crawl" / "control.json").exists()


def test_connections_that_say_nothing_keep_nobody_out(crawl: RunningCrawl) -> None:
    where = urlsplit(read_address(crawl.directory).url)
    silent = [socket.create_connection((where.hostname or "", where.port or 0)) for _ in range(40)]
    try:
        assert crawl.control.status().state == "running"
    finally:
        for connection in silent:
            connection.close()


def test_headers_without_end_are_cut(crawl: RunningCrawl) -> None:
    headers = {f"x_{number}": "y" * 100 for number in range(90)} | {"x_long": "y" * 200_000}
    with pytest.raises((OSError, http.client.HTTPException, AssertionError)):
        assert request(crawl.directory, "GET", "/v1/status", None, **headers)[0] != 400
    assert crawl.control.status().state == "running"


def test_connections_without_a_request_cost_the_crawl_no_more_than_64_descriptors_for_a_few_seconds(
    crawl: RunningCrawl,
) -> None:
    found = read_address(crawl.directory)
    address = urlsplit(found.url)
    assert address.hostname is not None
    assert address.port is not None
    crawl.status()  # The server is there.
    files = Path(f"/proc/{crawl.process.pid}/fd")
    before = len([*files.iterdir()])
    idle = [socket.create_connection((address.hostname, address.port), timeout=10) for _ in range(200)]
    try:
        # All beyond 64 are closed at once, the others after five seconds; then there is room for a request.
        for one in idle:
            with suppress(ConnectionResetError):
                assert one.recv(1) == b""
        assert len([*files.iterdir()]) < before + 64
        assert crawl.status()["state"]
    finally:
        for one in idle:
            one.close()
