"""The comparison with other crawlers: its corpus, its measures, and a small run of whoever is installed."""

import gzip
import json
import re
import socket
import ssl
import subprocess
import sys
import time
from pathlib import Path
from xml.etree import ElementTree as ET

import msgspec
import pytest

from whimbrel.bench.command.app import _corpora
from whimbrel.bench.peers import documentation
from whimbrel.bench.peers.api import HTTPS_PORT, PUBLIC_DNS_PORT, CorpusSpec, PeerRun, PeersError, PeersResult
from whimbrel.bench.peers.corpus import Corpus, quotes, realistic, small
from whimbrel.bench.peers.page import origin
from whimbrel.bench.peers.plot import plot
from whimbrel.bench.peers.private import find_way
from whimbrel.bench.peers.report import exit_code, rows, verdicts
from whimbrel.bench.peers.runner import NAMES, peers
from whimbrel.bench.peers.runner.program import script
from whimbrel.bench.peers.server import SimwebServer, find_nginx
from whimbrel.bench.peers.start import PeersOptions, start

ENVIRONMENT = Path(__file__).parents[2] / ".bench-venv"
PEERS = {peer.name: peer for peer in peers(ENVIRONMENT)}


def run_of(peer: str, cpu_s: float, *, corpus: str = "small", pages: int = 100, number: int = 1) -> PeerRun:
    return PeerRun(
        corpus=corpus,
        peer=peer,
        round=number,
        pages=pages,
        expected=100,
        fetches=pages,
        cpu_s=cpu_s,
        elapsed_s=1.0,
        peak_mb=50.0,
        stored_bytes=1000,
        kept={".gz": 1000},
        exit_code=0,
        others=0.0,
    )


def found_of(*runs: PeerRun) -> PeersResult:
    return PeersResult(
        server="nginx", cores="", pages={"small": 100}, versions={}, settings={}, runs=list(runs), absent=[]
    )


def crawled(spec: CorpusSpec, seeds: list[str], bodies: dict[str, bytes]) -> set[str]:
    """What a crawler reaches that follows every link of those bodies."""
    seen, todo = set(seeds), list(seeds)
    while todo:
        url = todo.pop()
        base = "/".join(url.split("/")[:3])
        for href in re.findall(rb'href="([^"]+)"', bodies[url]):
            text = href.decode()
            target = text if text.startswith(spec.scheme) else base + text
            if target not in seen:
                seen.add(target)
                todo.append(target)
    return seen


def bodies_of(corpus: Corpus) -> dict[str, bytes]:
    spec, found = corpus.spec, {}
    origins = {name: origin(spec, number) for number, name in enumerate(corpus.names())}
    for host, target, body in corpus.files():
        if target != "/robots.txt":
            found[origins[host] + target] = gzip.decompress(body) if spec.is_gzipped else body
    return found


@pytest.mark.parametrize("spec", [small(600), realistic(60)], ids=lambda spec: spec.name)
def test_every_page_can_be_reached_from_the_seeds_and_a_sample_is_closed(spec: CorpusSpec, tmp_path: Path) -> None:
    corpus = Corpus(spec, tmp_path)
    bodies = bodies_of(corpus)
    assert crawled(spec, corpus.seeds(None), bodies) == set(bodies)
    seeds = corpus.seeds(60)
    assert len(crawled(spec, seeds, bodies)) == len(seeds) * spec.pages < len(bodies)


def test_a_corpus_is_the_same_every_time_and_is_not_written_twice(tmp_path: Path) -> None:
    said: list[str] = []
    corpus = Corpus(realistic(8), tmp_path)
    corpus.prepare(said.append)
    corpus.prepare(said.append)
    assert len(said) == 1
    assert list(corpus.files()) == list(Corpus(realistic(8), tmp_path).files())
    page = tmp_path / "sites" / "h5.s1.test" / "index.html.gz"
    assert b"<title>Page 0 of h5.s1.test</title>" in gzip.decompress(page.read_bytes())


def test_realistic_pages_have_sizes_with_a_heavy_tail(tmp_path: Path) -> None:
    sizes = sorted(len(body) for body in bodies_of(Corpus(realistic(400), tmp_path)).values())
    assert 9_000 < sizes[len(sizes) // 2] < 14_000
    assert sizes[-1] > 300_000


def test_the_reaper_counts_the_cpu_of_processes_that_outlive_their_parent(tmp_path: Path) -> None:
    burn = "import time\nwhile time.process_time() < 0.5: pass"
    parent = f"import subprocess, sys; subprocess.Popen([sys.executable, '-c', {burn!r}])"
    result = tmp_path / "used.json"
    command = [sys.executable, "-I", "-S", script("reap.py"), str(result), "any", sys.executable, "-c", parent]
    subprocess.run(command, check=True, timeout=30)
    used = json.loads(result.read_bytes())
    assert used["cpu_s"] >= 0.5
    assert used["exit_code"] == 0


def test_a_crawler_that_is_told_to_end_ends_with_its_children_and_is_still_measured(tmp_path: Path) -> None:
    result, ready = tmp_path / "used.json", tmp_path / "ready"
    child = f"import pathlib, time; pathlib.Path({str(ready)!r}).touch(); time.sleep(60)"
    parent = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {child!r}])"
    command = [sys.executable, "-I", "-S", script("reap.py"), str(result), "any", sys.executable, "-c", parent]
    with subprocess.Popen(command) as reaper:
        deadline = time.monotonic() + 20
        while not ready.exists() and time.monotonic() < deadline:
            time.sleep(0.01)
        reaper.terminate()
        assert reaper.wait(20) == 0
    assert json.loads(result.read_bytes())["exit_code"] < 0


def test_the_median_of_the_rounds_counts_and_the_bars_are_judged_by_it() -> None:
    own = [run_of("whimbrel", cpu_s, number=at) for at, cpu_s in enumerate((0.1, 9.0, 0.12), 1)]
    table = rows(found_of(*own, run_of("scrapy", 1.5), run_of("wget2", 0.02)))
    assert table[0].cpu_ms_per_page == pytest.approx(1.2)
    assert table[0].spread is not None
    assert list(table[0].spread) == pytest.approx([1.0, 90.0])
    assert table[1].ratio == pytest.approx(12.5)
    assert {verdict.peer: verdict.state for verdict in verdicts(table)} == {"scrapy": "met", "wget2": "missed"}
    assert exit_code(table) == 1


def test_a_crawl_that_left_pages_out_meets_no_bar() -> None:
    table = rows(found_of(run_of("whimbrel", 0.001, pages=50), run_of("scrapy", 5.0), run_of("wget2", 5.0)))
    assert {verdict.state for verdict in verdicts(table)} == {"missed"}


def test_a_bar_without_its_peer_is_not_judged() -> None:
    table = rows(found_of(run_of("whimbrel", 0.001), run_of("scrapy", 5.0)))
    assert [verdict.state for verdict in verdicts(table)] == ["met", "not judged"]
    assert exit_code(table) == 3


def test_the_plot_has_a_bar_for_every_peer_that_fetched_something() -> None:
    table = rows(found_of(run_of("whimbrel", 0.1), run_of("wget2", 0.03), run_of("scrapy", 1.5, pages=0)))
    drawn = ET.fromstring(plot(table))  # noqa: S314
    texts = [element.text or "" for element in drawn.iter("{http://www.w3.org/2000/svg}text")]
    assert any(text.startswith("whimbrel") for text in texts)
    assert not any(text.startswith("scrapy") for text in texts)
    assert len(list(drawn.iter("{http://www.w3.org/2000/svg}rect"))) == 1 + 2


def small_run(tmp_path: Path, peer: str, spec: CorpusSpec) -> PeerRun:
    options = PeersOptions(
        corpora=[spec],
        peers=[peer],
        peers_env=ENVIRONMENT,
        work=tmp_path / "work",
        sample=120,
        rounds=1,
        connections=8,
        timeout_s=40,
    )
    found = start(options)
    assert (found.absent, len(found.runs)) == ([], 1)
    assert find_nginx() is None or find_way() is None or found.server.startswith("nginx/")
    return found.runs[0]


def needed(peer: str) -> None:
    if PEERS[peer].version() is None:
        pytest.skip(f"{peer} is not installed; `make bench-tools` installs it")
    if PEERS[peer].needs_private and find_way() is None:
        pytest.skip("this machine gives no private network")


@pytest.mark.parametrize("spec", [small(300), realistic(60)], ids=lambda spec: spec.name)
@pytest.mark.parametrize("peer", [name for name in NAMES if name != "whimbrel"])
def test_a_peer_fetches_every_page_once_and_its_costs_are_known(peer: str, spec: CorpusSpec, tmp_path: Path) -> None:
    needed(peer)
    run = small_run(tmp_path, peer, spec)
    assert (run.pages, run.fetches) == (run.expected, run.expected), run
    assert run.cpu_s > 0.01
    assert run.peak_mb > 5
    assert (run.stored_bytes > 100_000) == peer.startswith("wget")
    assert not (tmp_path / "work" / "state").exists()


@pytest.mark.parametrize("spec", [small(300), realistic(60)], ids=lambda spec: spec.name)
def test_whimbrel_fetches_every_page_once(spec: CorpusSpec, tmp_path: Path) -> None:
    run = small_run(tmp_path, "whimbrel", spec)
    assert (run.pages, run.fetches) == (run.expected, run.expected), run


def test_without_manuals_the_other_corpora_are_compared_and_that_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(documentation.documents, "__defaults__", (tmp_path,))
    assert [spec.name for spec in _corpora(None, 100, 10)] == ["small", "realistic", "quotes"]
    assert "left out: the corpus documents needs" in capsys.readouterr().err
    with pytest.raises(PeersError, match="make bench-tools"):
        _corpora(["documents"], 100, 10)


def library(root: Path) -> Path:
    """Two manuals with the faults of real ones: another charset, links out of the book, a blank in a name."""
    sqlite, gtk = root / "doc" / "sqlite3", root / "gtk-doc" / "html" / "gtk3"
    for folder in (sqlite / "c3ref", gtk, root / "elsewhere"):
        folder.mkdir(parents=True)
    (sqlite / "index.html").write_text(
        '<a href="c3ref/intro.html">in</a> <a href="?all">all</a> <a href="/">up</a> <img src="art/logo.gif">'
        + "text " * 100
    )
    (sqlite / "c3ref" / "intro.html").write_bytes('<meta charset="latin1"><p>Käse'.encode("latin1") + b" words" * 100)
    (sqlite / "a page.html").write_text("<title>alone</title>" + "alone " * 100)
    (sqlite / "empty.html").touch()
    (gtk / "index.html").write_text('<a href="../glib/none.html">no such book</a>' + "gtk " * 100)
    (root / "elsewhere" / "other.html").write_text("not of this book")
    (gtk / "link.html").symlink_to(root / "elsewhere" / "other.html")
    return root


def test_a_corpus_of_manuals_has_their_pages_byte_for_byte_and_a_list_of_them(tmp_path: Path) -> None:
    found = documentation.books(library(tmp_path))
    assert [(book.host, book.generator, book.pages) for book in found] == [
        ("sqlite.docs.test", "hand-written", 4),
        ("gtk3.docs.test", "gtk-doc", 2),
    ]
    with pytest.raises(PeersError, match="6 by 2: `make bench-tools`"):
        documentation.documents(tmp_path)


@pytest.mark.parametrize("peer", ["whimbrel", "wget", "wget2", "scrapy"])
def test_a_crawler_of_manuals_fetches_every_page_once_and_nothing_else(
    peer: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    needed(peer)
    monkeypatch.setattr(documentation, "FEWEST_PAGES", 1)
    monkeypatch.setattr(documentation, "FEWEST_GENERATORS", 1)
    run = small_run(tmp_path, peer, documentation.documents(library(tmp_path)))
    assert (run.pages, run.fetches) == (6, 6) == (run.expected, run.expected), run


@pytest.mark.parametrize("peer", ["whimbrel", "scrapy"])
def test_whoever_extracts_items_walks_the_quotes_by_their_own_links(peer: str, tmp_path: Path) -> None:
    needed(peer)
    run = small_run(tmp_path, peer, quotes(100))
    assert (run.pages, run.fetches) == (run.expected, run.expected) == (100, 100), run
    assert run.kept[".parquet" if peer == "whimbrel" else ".jsonl"] > 10_000


def test_a_peer_that_is_not_installed_is_listed_with_that_reason(tmp_path: Path) -> None:
    options = PeersOptions(
        corpora=[small(10)],
        peers=["scrapy"],
        peers_env=tmp_path / "nowhere",
        work=tmp_path / "work",
        sample=10,
        rounds=1,
        connections=1,
        timeout_s=10,
    )
    found = start(options)
    assert [msgspec.structs.astuple(absent) for absent in found.absent] == [("small", "scrapy", "not installed")]
    assert found.runs == []


def test_without_nginx_the_simulated_web_serves_the_same_bytes_and_counts_pages(tmp_path: Path) -> None:
    corpus = Corpus(realistic(4), tmp_path / "corpus")
    server = SimwebServer(corpus, tmp_path, "for a test")
    state = tmp_path / "state"
    state.mkdir()
    with server.serving(state, PUBLIC_DNS_PORT) as log:
        context = ssl.create_default_context(cafile=server.ca)
        for host, target, body in corpus.files():
            assert fetch(host, target, context) == body
    pages = [f"https://{host}{target}" for host, target, _ in corpus.files() if target != "/robots.txt"]
    assert sorted(page.replace(f":{HTTPS_PORT}", "") for page in log.pages()) == sorted(pages)


def fetch(host: str, target: str, context: ssl.SSLContext) -> bytes:
    """The bytes as they are sent, over a connection of its own."""
    request = f"GET {target} HTTP/1.1\r\nHost: {host}:{HTTPS_PORT}\r\nConnection: close\r\n\r\n"
    with (
        socket.create_connection(("127.0.0.1", HTTPS_PORT), 10) as plain,
        context.wrap_socket(plain, server_hostname=host) as sock,
    ):
        sock.sendall(request.encode())
        return b"".join(iter(lambda: sock.recv(65_536), b"")).partition(b"\r\n\r\n")[2]
