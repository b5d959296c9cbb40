"""An archive that another program made may hold secrets: none of them gets into ours."""

from pathlib import Path

from tests.cli.command import run
from tests.credential.witness import leaks, requests_on_record

SECRETS = ("token-of-test", "password-of-test")
TARGET = "http://me:password-of-test@a.test/x?mail=b@c"
REQUEST = (
    f"GET {TARGET} HTTP/1.1\r\nHost: a.test\r\nAUTHORIZATION: Bearer\r\n token-of-test\r\nX-Plain: plain\r\n"
    "cookie: token-of-test\r\n\r\n"
)


def record(number: int, kind: str, content_type: str, block: str) -> bytes:
    head = (
        f"WARC/1.1\r\nWARC-Type: {kind}\r\nWARC-Target-URI: {TARGET}\r\nWARC-Date: 2026-01-01T00:00:00Z\r\n"
        f"WARC-Record-ID: <urn:uuid:00000000-0000-0000-0000-{number:012}>\r\n"
        "WARC-Concurrent-To: <urn:uuid:00000000-0000-0000-0000-000000000001>\r\n"
        f"Content-Type: {content_type}\r\nContent-Length: {len(block)}\r\n\r\n"
    )
    return f"{head}{block}\r\n\r\n".encode()


def archive() -> bytes:
    response = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<p>a page"
    via = "via: http://me:password-of-test@a.test/\r\nhopsFromSeed: L\r\n"
    return (
        record(1, "response", "application/http; msgtype=response", response)
        + record(2, "request", "application/http; msgtype=request", REQUEST)
        + record(3, "metadata", "application/warc-fields", via)
    )


def test_request_records_and_urls_are_taken_over_without_secrets(tmp_path: Path) -> None:
    (tmp_path / "in.warc").write_bytes(archive())
    into = tmp_path / "out"
    done = run("import", str(tmp_path / "in.warc"), "--into", str(into))
    assert done.code == 0, done.words
    head = requests_on_record(into)[0]
    assert head.startswith("GET http://a.test/x?mail=b@c HTTP/1.1\r\n")
    assert "\r\nAUTHORIZATION: redacted\r\nX-Plain: plain\r\ncookie: redacted\r\n" in head
    assert leaks(into, *SECRETS) == []
    shown = run("query", str(into), "select url, discovered_from from fetches").out
    assert not any(secret in text for secret in SECRETS for text in (shown, done.out, done.err))
    assert run("verify", str(into)).code == 0
