"""`why` about archives that others wrote, compared with what warcio and Python's own HTML parser find in them."""

import os
import re
import shutil
import subprocess
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import urldefrag, urljoin

import pytest
from warcio.archiveiterator import ArchiveIterator

import whimbrel
from tests.cli.command import run
from tests.job.site import Answer, moved, page, served

# warcio does not close its temporary files.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning", "ignore::ResourceWarning")
CORPORA = Path(os.environ.get("WHIMBREL_CORPORA", Path(__file__).parents[3] / "shared" / "corpora"))
ARCHIVES = sorted(path for pattern in ("*.warc", "*.warc.gz") for path in CORPORA.rglob(pattern))
ATTRIBUTES = {
    "a": "href", "area": "href", "link": "href", "img": "src", "script": "src", "iframe": "src", "form": "action",
    "source": "src", "embed": "src", "video": "src", "audio": "src", "object": "data", "frame": "src",
}  # fmt: skip
PLAIN = re.compile(r"https?://(?:[a-z0-9-]+\.)*[a-z][a-z0-9-]*(?::[1-9]\d{3,4})?/[\w.~/=&?%+-]*")
"""URLs that everybody spells alike."""
REDIRECTS = (301, 302, 303, 307, 308)


class Places(HTMLParser):
    def __init__(self, url: str) -> None:
        super().__init__()
        self.base = url
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag == "base" and given.get("href"):
            self.base = urljoin(self.base, given["href"] or "")
        value = given.get(ATTRIBUTES.get(tag, ""))
        if value:
            self.found.append(urldefrag(urljoin(self.base, value.strip()))[0])


@dataclass
class Archive:
    """What an archive holds of each URL."""

    answers: defaultdict[str, list[tuple[str, int, str, str]]] = field(default_factory=lambda: defaultdict(list))
    """Date, status, where it redirects to, and the type of the record."""
    places: set[str] = field(default_factory=set)
    """URLs that pages refer to."""
    payloads: set[str] = field(default_factory=set)
    """Digests of responses."""
    revisits: defaultdict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    """Digests that the revisits of each URL name."""

    @classmethod
    def read(cls, files: list[Path]) -> "Archive":
        archive = cls()
        for file in files:
            with file.open("rb") as stream:
                for record in ArchiveIterator(stream):
                    archive.add(record)
        return archive

    def add(self, record: "object") -> None:
        kind, headers, http = record.rec_type, record.rec_headers, record.http_headers  # type: ignore[attr-defined]
        url = headers.get_header("WARC-Target-URI") or ""
        if kind not in ("response", "revisit") or not url.startswith("http") or http is None:
            return
        status = int(http.get_statuscode() or 0)
        to = urldefrag(urljoin(url, http.get_header("Location") or ""))[0] if status in REDIRECTS else ""
        digest = headers.get_header("WARC-Payload-Digest") or ""
        if kind == "response":
            self.payloads.add(digest)
        else:
            self.revisits[url].add(digest)
        self.answers[url].append((headers.get_header("WARC-Date"), status, to, kind))
        if 200 <= status < 300 and "html" in (http.get_header("Content-Type") or "") and kind == "response":
            places = Places(url)
            places.feed(record.content_stream().read().decode("utf-8", "replace"))  # type: ignore[attr-defined]
            self.places.update(filter(PLAIN.fullmatch, places.found))

    def is_lost(self, url: str) -> bool:
        """There are only revisits of it, and no file has what they repeat."""
        only = all(kind == "revisit" and status != 304 for _, status, _, kind in self.answers[url])
        return only and self.payloads.isdisjoint(self.revisits[url])

    def outcomes(self, url: str) -> set[tuple[str, str]]:
        """Outcome and rule of the last answer; several where one moment has several."""
        last = max(date for date, *_ in self.answers[url])
        found = [answer for answer in self.answers[url] if answer[0] == last]
        return {one for _, status, to, kind in found for one in _outcomes(status, to, kind)}


def _outcomes(status: int, to: str, kind: str) -> Iterator[tuple[str, str]]:
    if status in REDIRECTS:
        yield "redirected", to if PLAIN.fullmatch(to) else ""
    elif status in (404, 410):
        yield "gone", ""
    elif status == 304 or kind == "revisit":
        yield from (("unchanged", ""), ("duplicate", ""))
    elif 200 <= status < 300:
        yield from (("stored", ""), ("duplicate", ""), ("unchanged", ""))
    else:
        yield "failed", ""


def check(files: list[Path], out: Path, least: int) -> None:
    done = run("import", *map(str, files), "--into", str(out))
    assert done.code == 0, done.words
    archive = Archive.read(files)
    invented = [f"{url.rstrip('/')}/invented-{at}" for at, url in enumerate(list(archive.answers)[:20])]
    linked = sorted(archive.places - archive.answers.keys())
    urls = [*archive.answers, *linked, *invented, "https://nobody.example/"]
    wrong = []
    with whimbrel.Explainer(out) as explainer:
        for url, story in zip(urls, explainer.stories(urls), strict=True):
            told = (story.kind, story.outcome, story.reason)
            if url in archive.answers and archive.is_lost(url):
                right = told == ("unclear", "", "import")
            elif url in archive.answers:
                rule = story.rule if story.outcome == "redirected" and PLAIN.fullmatch(story.rule) else ""
                right = story.kind == "visited" and (story.outcome, rule) in archive.outcomes(url)
            else:
                right = told == ("refused" if url in archive.places else "unknown", "", "import")
            if not right:
                wrong.append(f"{url}: {told} {story.rule} {story.explanation}; {archive.answers.get(url)}")
    print(f"{len(archive.answers)} archived, {len(linked)} linked, {len(urls)} URLs")  # noqa: T201
    assert not wrong, f"{len(wrong)} of {len(urls)}\n" + "\n".join(wrong[:20])
    assert len(urls) >= least


@pytest.mark.skipif(not ARCHIVES, reason="there are no archives of others")
def test_why_is_true_for_archives_that_others_wrote(tmp_path: Path) -> None:
    check(ARCHIVES, tmp_path / "all", 200)
    for file in ARCHIVES:
        check([file], tmp_path / file.name, 1)


def _site() -> dict[str, Answer]:
    head = '<link rel=stylesheet href="/look.css"><form method=post action="/send"></form><img src="/at/{0}.png">'
    pages: dict[str, Answer] = {
        f"/p/{at}.html": page(
            *(f"/p/{at * 3 + more}.html" for more in (1, 2, 3)),
            *(f"/gone/{at}", f"/moved/{at}", f"http://elsewhere.example/{at}"),
            title=f"page {at}",
            head=head.format(at),
        )
        for at in range(40)
    }
    return {"/robots.txt": (404, {}, ""), "/": page("/p/0.html"), **pages, "/moved/7": moved("/p/7.html")}


@pytest.mark.skipif(shutil.which("wget") is None, reason="wget is not installed")
def test_why_is_true_for_what_wget_wrote(tmp_path: Path) -> None:
    with served(_site()) as port:
        command = [
            "wget",
            "-q",
            "-r",
            "-l",
            "9",
            "--warc-file",
            str(tmp_path / "theirs"),
            "-P",
            str(tmp_path / "files"),
        ]
        subprocess.run([*command, f"http://localhost:{port}/"], check=False, capture_output=True, timeout=60)
    check([tmp_path / "theirs.warc.gz"], tmp_path / "out", 200)
