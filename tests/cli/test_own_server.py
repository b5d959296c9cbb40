"""A server on one's own machine: what people try first."""

from collections.abc import Callable, Iterator
from pathlib import Path
from unittest import mock

import pytest

from tests.cli.command import Done, run
from tests.job.site import Answer, moved, page, served

NO_DELAY = ("--delay", "0s")


@pytest.fixture(scope="module")
def pages() -> Iterator[tuple[dict[str, Answer], int]]:
    found: dict[str, Answer] = {}
    with served(found, "127.0.0.2") as port, served({"/": page()}) as other_port:
        found["/"] = page(
            "/a",
            f"http://127.0.0.2:{port}/",
            f"http://127.0.0.1:{other_port}/",
            f"http://localhost:{other_port}/",
            f"http://mine.example:{port}/",
            "/moved",
        )
        found["/a"] = page("/")
        found["/moved"] = moved(f"http://127.0.0.2:{port}/secret")
        found["/robots.txt"] = (404, {}, "")
        yield found, port


def ends(directory: Path) -> dict[str, str]:
    rows = run("query", str(directory), "select url, outcome, reason from fetches", "--format", "json").json()
    return {row["url"]: f"{row['outcome']} {row['reason']}" for row in rows}


@pytest.mark.parametrize("name", ["localhost", "127.0.0.1", "a.localhost", "0.0.0.0"])
def test_a_private_seed_that_is_typed_is_crawled_and_nothing_else_that_is_private(
    pages: tuple[dict[str, Answer], int], tmp_path: Path, name: str
) -> None:
    _, port = pages
    hosts = tmp_path / "hosts"
    hosts.write_text("127.0.0.1 localhost mine.example\n")
    into, site = tmp_path / "out", f"http://{name}:{port}"
    more = ("--scope", "any", "--set", f"resolver.hosts_file={hosts}", *NO_DELAY)
    done = run("crawl", f"{site}/", "--into", str(into), *more)
    assert done.code == 0, done.words
    assert f"{name}:{port} is private; it is crawled because you named it" in done.words
    found = ends(into)
    assert {url for url, end in found.items() if end.startswith("stored")} == {f"{site}/", f"{site}/a"}
    refused = {url for url, end in found.items() if end == "failed private-address"}
    assert refused == found.keys() - {f"{site}/", f"{site}/a", f"{site}/moved"}
    assert f"http://127.0.0.2:{port}/secret" in refused
    assert f"http://mine.example:{port}/" in refused
    assert len(refused) == 5


def by_file(site: str, folder: Path) -> Done:
    (folder / "seeds.txt").write_text(f"{site}/\n")
    return run("crawl", "--seeds", str(folder / "seeds.txt"), "--into", str(folder / "out"), *NO_DELAY)


def by_stdin(site: str, folder: Path) -> Done:
    return run("crawl", "--seeds", "-", "--into", str(folder / "out"), *NO_DELAY, stdin=f"{site}/\n")


def by_job(site: str, folder: Path) -> Done:
    (folder / "job.toml").write_text(f'seeds = ["{site}/"]\n')
    return run("crawl", "--job", str(folder / "job.toml"), "--into", str(folder / "out"), *NO_DELAY)


@pytest.mark.parametrize("way", [by_file, by_stdin, by_job])
def test_a_private_seed_from_elsewhere_is_refused_and_the_advice_works(
    pages: tuple[dict[str, Answer], int], tmp_path: Path, way: Callable[[str, Path], Done]
) -> None:
    _, port = pages
    site = f"http://127.0.0.1:{port}"
    done = way(site, tmp_path)
    assert done.code == 1, done.words
    assert ends(tmp_path / "out") == {f"{site}/": "failed private-address"}
    advice = f"whimbrel resume {tmp_path / 'out'} --allow-network CIDR"
    assert advice in done.words
    by_option = ("--allow-network", "127.0.0.1/32") if way is by_file else ("--set", "allow_network=127.0.0.1/32")
    done = run("resume", str(tmp_path / "out"), *by_option)
    assert done.code == 0, done.words
    assert ends(tmp_path / "out")[f"{site}/a"].startswith("stored")
    assert run("verify", str(tmp_path / "out")).code == 0
    again = run("resume", str(tmp_path / "out"))
    assert (again.code, "nothing is left to do" in again.words) == (0, True)


def test_a_stopped_crawl_of_a_typed_seed_goes_on_and_config_show_tells_why(
    pages: tuple[dict[str, Answer], int], tmp_path: Path
) -> None:
    _, port = pages
    into = tmp_path / "out"
    run("crawl", f"http://localhost:{port}/", "--into", str(into), "--max-pages", "1", *NO_DELAY)
    done = run("resume", str(into), "--max-pages", "10")
    assert done.code == 0, done.words
    assert ends(into)[f"http://localhost:{port}/a"].startswith("stored")
    shown = run("config", "show", str(into), "--json").json()["allow_host"]
    assert shown == {"value": [f"localhost:{port}"], "origin": "command line"}


def test_fetch_asks_a_private_address_that_is_typed_and_says_so(pages: tuple[dict[str, Answer], int]) -> None:
    _, port = pages
    done = run("fetch", f"http://localhost:{port}/")
    assert (done.code, "stored (new)" in done.words) == (0, True), done.words
    assert f"localhost:{port} is private" in done.words
    assert run("fetch", f"http://localhost:{port}/", "--json").json()["outcome"] == "stored"


def test_fetch_refuses_a_name_that_leads_to_a_private_address_and_says_what_to_do(
    pages: tuple[dict[str, Answer], int], tmp_path: Path
) -> None:
    _, port = pages
    (tmp_path / "hosts").write_text("127.0.0.1 mine.example\n")
    with mock.patch("whimbrel.fetch.resolver.HOSTS_FILE", str(tmp_path / "hosts")):
        done = run("fetch", f"http://mine.example:{port}/")
        assert (done.code, "failed (private-address)" in done.words) == (1, True), done.words
        done = run("fetch", f"http://mine.example:{port}/", "--allow-network", "127.0.0.1/32")
        assert done.code == 0
