"""`whimbrel why`, on every way in which a URL can have no page."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

import whimbrel
from tests.archive.sample import capture
from tests.archive.test_cdxj import keep
from tests.cli.command import run
from tests.control.rig import crawling
from tests.job.site import Answer, moved, page, served
from whimbrel.qualify.robots_explain import denying_rule
from whimbrel.simweb.page import path
from whimbrel.simweb.spec import WebSpec

OWN = ("--delay", "0s", "--allow-network", "127.0.0.0/8")
HEAD = (
    '<link rel=stylesheet href="/style.css"><form action="/search"><input name=q></form>'
    '<form method=post action="/login"></form>'
)
ROBOTS = "Sitemap: /skip/map.xml\nUser-agent: *\nDisallow: /private\nAllow: /private/open\nDisallow: /*.pdf$\n"
PAGES: dict[str, Answer] = {
    "/robots.txt": (200, {"Content-Type": "text/plain"}, ROBOTS),
    "/": page(
        *("/a", "/moved", "/out", "/nowhere", "/private/x", "/b.pdf", "/skip/1", "/mine/1", "/broken/1"),
        *("http://elsewhere.test/", "mailto:a@b.c"),
        head=HEAD,
    ),
    "/a": page("/quiet/", title="first"),
    "/quiet/": page("/whispered", head='<meta name=robots content="nofollow">'),
    "/moved": moved("/a"),
    "/out": moved("http://elsewhere.test/far"),
    "/nowhere": moved("mailto:a@b.c"),
}
FILTERS = """
import whimbrel as w

@w.filter
def not_mine(url):
    if "/broken/" in url:
        raise ValueError("no such thing")
    return "/mine/" not in url
"""


@dataclass(frozen=True)
class Crawl:
    directory: Path
    site: str

    def why(self, url: str) -> str:
        done = run("why", str(self.directory), self.site + url if url.startswith("/") else url)
        assert done.code == 0, done.words
        return done.words


def crawled(directory: Path, site: str, *options: str) -> Crawl:
    done = run("crawl", f"{site}/", "--into", str(directory), *OWN, *options)
    assert done.code in (0, 3), done.words
    return Crawl(directory, site)


@pytest.fixture(scope="module")
def crawl(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Crawl]:
    folder = tmp_path_factory.mktemp("why")
    (folder / "filters.py").write_text(FILTERS)
    with served(PAGES) as port:
        options = ("--exclude", "*/skip/*", "--exclude", "*never*", "--with", str(folder / "filters.py"))
        yield crawled(folder / "out", f"http://127.0.0.1:{port}", *options)


@pytest.mark.parametrize(
    ("url", "words"),
    [
        (
            "/search",
            ["as '' (form)", "a link to it is refused", "links of kind `form` are not followed (not-followed)"],
        ),
        (
            "/style.css",
            [
                "refers to it in `<link href>`",
                "links of kind `style` are followed only with --requisites (not-followed)",
            ],
        ),
        ("/login", ["refers to it in `<form action>`", "links of kind `form` are not followed (not-followed)"]),
        ("/private/x", ["denied (robots)", "/robots.txt denies it to 'whimbrel' by the rule `Disallow: /private`"]),
        ("/b.pdf", ["by the rule `Disallow: /*.pdf$`"]),
        ("/skip/1", ["refused, because the pattern '*/skip/*' of `exclude` matches it (excluded)"]),
        ("/skip/map.xml", ["A link to it would be refused (e"]),
        ("/mine/1", ["refused, because your filter not_mine refuses it (filter)"]),
        ("/broken/1", ["your filter not_mine fails (ValueError: no such thing)", "(filter-error)"]),
        ("http://elsewhere.test/", ["refused, because it is outside the scope `host` of http://127.0.0.1"]),
        ("/whispered", ["refused, because its page says nofollow (nofollow)"]),
        ("/moved", ["It redirects to http://127.0.0.1", "/a, which ended as stored (new)"]),
        ("/out", ["It redirects to http://elsewhere.test/far, which is not followed (out-of-scope)"]),
        ("/nowhere", ["It redirects to no http or https URL"]),
        (
            "http://elsewhere.test/far",
            ["redirected from http://127.0.0.1", "is refused, because it is outside the scope"],
        ),
        (
            "/unlinked",
            [
                "nothing that was fetched links to it, and no picture, style or form in 3 searched pages leads to it.",
                "A link to it would be followed.",
            ],
        ),
        (
            "http://other.test/",
            ["is not known", "A link to it would be refused (out-of-scope): it is outside the scope"],
        ),
        ("/skip/unlinked", ["is not known", "would be refused (excluded): the pattern '*/skip/*'"]),
    ],
)
def test_why_says_which_rule_decided(crawl: Crawl, url: str, words: list[str]) -> None:
    told = crawl.why(url)
    assert [one for one in words if one not in told] == [], told
    assert "on its way" not in told
    assert "is queued" not in told


@pytest.mark.parametrize("text", ["mailto:a@b.c", "javascript:void", "data:,x"])
def test_what_is_no_web_url_is_not_taken_for_a_host(crawl: Crawl, text: str) -> None:
    done = run("why", str(crawl.directory), text)
    assert (done.code, "is not an http or https URL" in done.words) == (2, True)


def test_a_kind_of_link_that_is_not_followed_is_named_when_only_handlers_are(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("import whimbrel as w\n\n@w.handler\ndef nothing(page):\n    return None\n")
    with served(PAGES) as port:
        options = ("--follow", "handlers", "--with", str(tmp_path / "mine.py"))
        told = crawled(tmp_path / "out", f"http://127.0.0.1:{port}", *options).why("/a")
    assert "links of kind `a` are not followed, only those that handlers make" in told


def test_a_requisite_is_known_where_requisites_are_recorded(tmp_path: Path) -> None:
    with served(PAGES) as port:
        found = crawled(tmp_path / "out", f"http://127.0.0.1:{port}", "--requisites", "--exclude", "*/a")
        assert "gone (http-404" in found.why("/style.css")
        assert "is not known" in found.why("/unlinked")


def test_a_seed_whose_host_fails_says_its_last_error(tmp_path: Path) -> None:
    with served({}) as port:
        site = f"https://127.0.0.1:{port}"
        found = crawled(tmp_path / "out", site, "--max-time", "8s")
        told = found.why("/")
    assert "is queued: it is a seed. Its host may not be visited now (robots.txt: tls" in told, told
    assert "it is asked again, not before 20" in told
    assert "on its way" not in told


def test_what_a_limit_left_in_the_queue_says_so(tmp_path: Path) -> None:
    with served(PAGES) as port:
        site = f"http://127.0.0.1:{port}"
        found = crawled(tmp_path / "out", site, "--max-pages", "1")
        told = found.why("/a")
        assert f"is queued: it was found on {site}/. Its host is qualified. The crawl ended at its limit" in told, told
        assert f"whimbrel resume {found.directory} --max-pages N" in told
        per_host = crawled(tmp_path / "per-host", site, "--max-pages-per-host", "1", "--max-time", "5s")
        assert "as many requests as it may have (`max_pages_per_host = 1`)" in per_host.why("/a")


def test_urls_that_were_queued_when_their_host_was_blocked_are_said_to_stay(tmp_path: Path) -> None:
    with served(PAGES) as port:
        found = crawled(tmp_path / "out", f"http://127.0.0.1:{port}", "--max-pages", "1")
    job = found.directory / "job.toml"
    job.write_text('block = ["127.0.0.1"]\n' + job.read_text())
    told = found.why("/a")
    assert "/a is queued: it was found on" in told
    assert "Its host is blocked by '127.0.0.1': its queue is kept" in told
    assert f"whimbrel control {found.directory} unblock 127.0.0.1" in told
    assert "is a seed" not in told
    assert "stored (new" in found.why("/")


@pytest.mark.parametrize(
    ("waits_s", "words"),
    [
        (
            "3600",
            [
                "is queued: it was found on",
                "Its host is parked, because it failed several times in a row (refused)",
                "resume",
            ],
        ),
        ("", ["failed (refused)", "It was not asked for: its host was given up (refused), which ends all its URLs"]),
    ],
)
def test_what_becomes_of_the_urls_of_a_host_that_fails(tmp_path: Path, waits_s: str, words: list[str]) -> None:
    job = tmp_path / "job.toml"
    job.write_text(f"[set.frontier]\npark_after = 1\npark_s = [{waits_s}]\n[set.effects]\nmax_tries = 1\n")
    with served(PAGES) as port:
        found = crawled(tmp_path / "out", f"http://127.0.0.1:{port}", "--max-pages", "1", "--job", str(job))
    assert run("resume", str(found.directory), "--max-pages", "9", "--max-time", "4s").code in (0, 3)
    told = [found.why(path) for path in ("/a", "/moved", "/private/x", "/b.pdf")]
    assert any(all(one in story for one in words) for story in told), told
    assert not any("on its way" in story for story in told)


def test_a_link_that_the_job_would_follow_only_now_is_not_called_queued(crawl: Crawl, tmp_path: Path) -> None:
    with served(PAGES) as port:
        found = crawled(tmp_path / "out", f"http://127.0.0.1:{port}", "--exclude", "*/skip/*")
    job = found.directory / "job.toml"
    job.write_text("".join(line for line in job.read_text().splitlines(keepends=True) if "exclude" not in line))
    told = found.why("/skip/1")
    assert "was not visited, and is not queued." in told
    assert "scope or filters were others when it was found" in told


@pytest.mark.parametrize(
    ("options", "settings"),
    [(("--max-file-size", "100"), ""), ((), "[set.parser]\nmax_links = 3\n")],
    ids=["length", "too-many-links"],
)
def test_pages_that_were_read_in_part_may_have_had_a_link(
    tmp_path: Path, options: tuple[str, ...], settings: str
) -> None:
    job = tmp_path / "job.toml"
    job.write_text(settings)
    with served(PAGES) as port:
        found = crawled(tmp_path / "out", f"http://127.0.0.1:{port}", "--job", str(job), *options)
    told = found.why("/unlinked")
    assert "1 page was read only in part (`truncated` in the table `pages`), so a link may have been missed" in told


def test_a_job_that_cannot_be_used_leaves_the_facts(tmp_path: Path) -> None:
    (tmp_path / "filters.py").write_text(FILTERS)
    with served(PAGES) as port:
        found = crawled(tmp_path / "out", f"http://127.0.0.1:{port}", "--with", str(tmp_path / "filters.py"))
    (tmp_path / "filters.py").unlink()
    assert "stored (new, status 200)" in found.why("/a")
    assert "has no visit. The job cannot be used" in found.why("/mine/1")


def test_why_reads_the_queues_and_the_rules_of_a_crawl_that_runs(tmp_path: Path) -> None:
    spec = WebSpec(hosts=1, pages=40, exhibits={}, robots={"rules": 1.0})
    with crawling(spec, tmp_path, "--delay", "200ms") as crawl:
        crawl.until(lambda now: now["progress"]["outcomes"].get("denied", 0) > 0, "something is denied")
        crawl.control.pause()
        crawl.control.checkpoint()
        found = Crawl(crawl.directory, crawl.served.running.seeds[0].rstrip("/"))
        with whimbrel.Explainer(crawl.directory) as explainer:
            stories = list(explainer.stories(f"{found.site}{path(number)}" for number in range(40)))
        kinds = {story.kind for story in stories}
        denied = [story for story in stories if story.outcome == "denied"]
        waiting = [story for story in stories if story.kind == "queued"]
        assert kinds <= {"visited", "queued", "unknown"}
        assert {story.rule for story in denied} == {"Disallow: /private/"}
        assert waiting
        assert {story.reason for story in waiting} == {"turn"}
        told = found.why(waiting[0].url)
        assert "is queued: it was found on" in told
        assert "Its host is qualified. Its turn has not come yet." in told


# warcio does not close its temporary files.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning", "ignore::ResourceWarning")
def test_an_import_needs_no_job(tmp_path: Path) -> None:
    (tmp_path / "theirs").mkdir()
    body = b"<title>first</title><a href=/next>next</a>"
    (segment,) = keep(tmp_path / "theirs", [capture(body, 0, url="https://a.test/page")])
    out = tmp_path / "out"
    assert run("import", str(segment), "--into", str(out)).code == 0
    found = Crawl(out, "https://a.test")
    assert "stored (new" in found.why("/page")
    assert "is in none of the imported files. Pages link to it; an import follows no links." in found.why("/next")
    told = found.why("/other")
    assert "is in none of the imported files. No imported page links to it, and no picture, style or form in 1" in told


@pytest.mark.parametrize(
    ("path", "rule"),
    [
        ("/private/x", "Disallow: /private"),
        ("/private/open/x", ""),
        ("/private/secret/x", "Disallow: /private/secret"),
        ("/a", ""),
    ],
)
def test_the_longest_rule_is_the_one_that_denies(path: str, rule: str) -> None:
    text = f"User-agent: other\nDisallow: /\n\n{ROBOTS}Disallow: /private/secret\n"
    assert denying_rule(text, "whimbrel", f"http://a.test{path}") == rule
