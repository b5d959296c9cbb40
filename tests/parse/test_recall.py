"""Our links against those of Chromium's own parser, on real documentation pages.

A page of our own in headless Chromium loads each document with an XMLHttpRequest for documents: parsed as a browser
does, with scripts off, and resolved against its own address. Links that scripts would add are out of reach for both.
"""

import json
import shutil
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from queue import Queue
from urllib.parse import quote, unquote

import pytest

from whimbrel.bench.peers import documentation
from whimbrel.parse.api import Reading
from whimbrel.parse.html import Html
from whimbrel.url import parse

PAGES = 2_000
NEEDED = f"needs {PAGES:,} pages of documentation and a browser: `make long-tools` installs them"
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
    """The same pages on every machine with the same packages, as many from the beginning of a book as from its end;
    each file once."""
    paths = []
    for book in documentation.books():
        paths += sorted(path for path in Path(book.folder).rglob("*.html") if path.is_file() and path.stat().st_size)
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
        elif (path := documentation.DOCUMENTATION / unquote(self.path).lstrip("/")) in self.paths:
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
    return "/" + quote(str(path.relative_to(documentation.DOCUMENTATION)))


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


@pytest.mark.long
@pytest.mark.timeout(900)
def test_at_least_999_of_1000_links_that_chromium_finds_are_found(tmp_path: Path) -> None:
    paths = documents()
    if shutil.which("chromium") is None or not paths:
        pytest.skip(NEEDED)
    origin, browser = chromium_links(paths, tmp_path / "profile")
    html = Html(Reading(max_links=1_000_000))
    misses: list[str] = []
    extras: list[str] = []
    total = 0
    for path in paths:
        url = parse(origin + address(path))
        found = browser[address(path)]
        assert url is not None
        assert found is not None, path
        expected = canonical(found)
        total += len(expected)
        page = html.read(path.read_bytes(), url, "text/html", "")
        got = {link.target for link in page.links if link.kind in KINDS}
        misses += [f"{path}: {link}" for link in sorted(expected - got)]
        extras += [f"{path}: {link}" for link in sorted(got - expected)]
    generators = len({book.generator for book in documentation.books()})
    print(f"{PAGES:,} pages by {generators} generators: {len(misses)} of {total:,} links missed, {len(extras)} more")  # noqa: T201
    print("\n".join(misses[:50] + extras[:50]))  # noqa: T201
    assert total > 30_000
    assert generators >= 6
    assert len(misses) <= 0.001 * total, "\n".join(misses)
    assert len(extras) <= 0.001 * total, "\n".join(extras)
