"""Our links against those of Chromium's own parser, on real documentation pages.

A page of our own in headless Chromium loads each document with an XMLHttpRequest for documents: parsed as a browser
does, with scripts off, and resolved against its own address. Links that scripts would add are out of reach for both.
"""

import json
import shutil
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from queue import Queue
from urllib.parse import quote, unquote

import msgspec
import pytest

from whimbrel.parse.charset import to_utf8
from whimbrel.parse.guard import is_cheap
from whimbrel.parse.html import Html
from whimbrel.parse.html_links import Reading
from whimbrel.parse.stream import read_stream
from whimbrel.url import parse

DOCUMENTATION = Path("/usr/share/doc")
PACKAGES = "chromium python3-doc postgresql-doc sqlite3-doc git-doc"
PAGES = 500
KINDS = ("a", "area", "iframe", "frame")
HARNESS = """<!DOCTYPE html><title>harness</title><script>
const load = path => new Promise(done => {
  const request = new XMLHttpRequest();
  request.open("GET", path);
  request.responseType = "document";
  request.onloadend = () => done(request.response);
  request.send();
});
const links = page => page === null ? null :
  [...page.querySelectorAll("a[href], area[href], iframe[src], frame[src]")].map(element => {
    const written = element.getAttribute(element.hasAttribute("href") ? "href" : "src");
    try { return new URL(written, page.baseURI).href; } catch (error) { return ""; }
  });
(async () => {
  const found = {};
  for (const path of await (await fetch("/list")).json()) found[path] = links(await load(path));
  await fetch("/found", {method: "POST", body: JSON.stringify(found)});
})();
</script>"""
Found = dict[str, list[str] | None]


def documents() -> list[Path]:
    """The same 500 pages on every machine with the same packages, from all of them; each file once."""
    paths = sorted({path.resolve() for path in DOCUMENTATION.glob("**/*.html") if path.is_file()})
    # Links lead out of the folder on some systems.
    paths = [path for path in paths if path.is_relative_to(DOCUMENTATION) and path.stat().st_size]
    return [paths[at * len(paths) // PAGES] for at in range(PAGES)] if len(paths) >= PAGES else []


class Handler(BaseHTTPRequestHandler):
    def __init__(self, paths: list[Path], results: "Queue[Found]", *arguments: object) -> None:
        self.paths, self.results = paths, results
        super().__init__(*arguments)  # type: ignore[arg-type]

    def do_GET(self) -> None:
        if self.path == "/harness":
            self.answer(HARNESS.encode(), "text/html; charset=utf-8")
        elif self.path == "/list":
            self.answer(json.dumps([address(path) for path in self.paths]).encode(), "application/json")
        elif (path := DOCUMENTATION / unquote(self.path).lstrip("/")) in self.paths:
            self.answer(path.read_bytes(), "text/html")
        else:
            self.send_error(404)

    def do_POST(self) -> None:
        self.results.put(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        self.answer(b"", "text/plain")

    def answer(self, body: bytes, content_type: str) -> None:
        self.send_response(200)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


def address(path: Path) -> str:
    return "/" + quote(str(path.relative_to(DOCUMENTATION)))


@contextmanager
def served(paths: list[Path], results: "Queue[Found]") -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, paths, results)) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


def chromium_links(paths: list[Path], profile: Path) -> tuple[str, Found]:
    """What Chromium finds on each page, by its address."""
    program = shutil.which("chromium")
    assert program is not None
    results: Queue[Found] = Queue()
    with served(paths, results) as origin:
        command = [
            program,
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--no-proxy-server",
            f"--user-data-dir={profile}",
        ]
        with subprocess.Popen(
            [*command, f"{origin}/harness"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        ) as browser:
            try:
                return origin, results.get(timeout=600)
            finally:
                browser.terminate()
                browser.wait(20)


def canonical(links: list[str]) -> set[str]:
    return {url.text for link in links if (url := parse(link)) is not None}


def test_both_readers_agree_on_documentation_pages() -> None:
    url = parse("http://a.test/dir/page")
    assert url is not None
    paths = documents()[::10]
    if not paths:
        pytest.skip(f"needs {PAGES} pages of documentation: apt-get install {PACKAGES}")
    reading = Reading(max_links=1_000_000, max_text_chars=100_000_000, time_budget_s=60)
    html = Html(reading, time.monotonic)
    for path in paths:
        body, charset = to_utf8(path.read_bytes(), "")
        tree = html._read_tree(body, url, "text/html", charset)
        stream = read_stream(body, url, "text/html", charset, reading, time.monotonic)
        assert tree.links == stream.links, path
        assert tree.text.split() == stream.text.split(), path
        assert msgspec.structs.replace(tree, links=(), text="") == msgspec.structs.replace(stream, links=(), text="")


@pytest.mark.long
def test_at_least_995_of_1000_links_that_chromium_finds_are_found(tmp_path: Path) -> None:
    paths = documents()
    if shutil.which("chromium") is None or not paths:
        pytest.skip(f"needs {PAGES} pages of documentation and a browser: apt-get install {PACKAGES}")
    origin, browser = chromium_links(paths, tmp_path / "profile")
    reading = Reading(max_links=1_000_000, time_budget_s=60)
    html = Html(reading, time.monotonic)
    misses: dict[str, list[str]] = {"tree": [], "stream": []}
    extras: dict[str, list[str]] = {"tree": [], "stream": []}
    total = trees = 0
    for path in paths:
        url = parse(origin + address(path))
        found = browser[address(path)]
        assert url is not None
        assert found is not None, path
        expected, body = canonical(found), path.read_bytes()
        total += len(expected)
        trees += is_cheap(to_utf8(body, "")[0])
        pages = {
            "tree": html.read(body, url, "text/html", ""),
            "stream": read_stream(body, url, "text/html", "", reading, time.monotonic),
        }
        for reader, page in pages.items():
            got = {link.target for link in page.links if link.kind in KINDS}
            misses[reader] += [f"{path}: {link}" for link in sorted(expected - got)]
            extras[reader] += [f"{path}: {link}" for link in sorted(got - expected)]
    for reader, missed in misses.items():
        print(f"{reader}: {len(missed)} of {total} missed, {len(extras[reader])} more than Chromium")  # noqa: T201
        print("\n".join(missed[:50] + extras[reader][:50]))  # noqa: T201
    assert total > 10_000
    assert trees > 0.9 * PAGES
    assert len(misses["tree"]) <= 0.005 * total, "\n".join(misses["tree"])
    assert len(misses["stream"]) <= 0.005 * total, "\n".join(misses["stream"])
    assert len(extras["tree"]) <= 0.005 * total, "\n".join(extras["tree"])
