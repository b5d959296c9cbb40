"""Headers that carry secrets go to the origins of the seeds and nowhere else, and no file or message shows them."""

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.command import Done, run
from tests.credential.witness import (
    NAMES,
    Witness,
    leaks,
    links,
    listening,
    mode,
    port_of,
    redirect,
    requests_on_record,
)
from whimbrel.simweb.server.certificate import Authority

TOKEN = "Bearer token-of-the-test"  # noqa: S105
COOKIE = "session=cookie-of-the-test"
SECRETS = ("token-of-the-test", "cookie-of-the-test")
HEADERS = ("--header", f"authorization: {TOKEN}", "--header", f"COOKIE:{COOKIE}", "--header", "X-Plain: for everybody")
OWN = ("--delay", "0s", "--allow-network", "127.0.0.0/8", "--allow-network", "::1/128", "--scope", "any")


@pytest.fixture
def witness() -> Witness:
    return Witness()


@pytest.fixture
def mine(witness: Witness) -> Iterator[str]:
    with listening(witness) as origin:
        yield origin


@pytest.fixture
def other_address(witness: Witness, mine: str) -> Iterator[str]:
    with listening(witness, "127.0.0.2", port=port_of(mine)) as origin:
        yield origin


@pytest.fixture
def other_port(witness: Witness) -> Iterator[str]:
    with listening(witness) as origin:
        yield origin


def crawl(into: Path, *arguments: str) -> Done:
    done = run("crawl", *arguments, "--into", str(into), *OWN)
    for secret in SECRETS:
        assert secret not in done.out + done.err
    return done


def test_links_redirects_robots_and_sitemaps_of_other_origins_get_ordinary_headers_only(
    witness: Witness, mine: str, other_address: str, other_port: str, tmp_path: Path
) -> None:
    witness.pages = {
        f"{mine}/robots.txt": (200, {}, f"User-agent: *\nSitemap: {mine}/map.xml\nSitemap: {other_port}/map.xml\n"),
        f"{mine}/map.xml": (200, {"Content-Type": "application/xml"}, "<urlset></urlset>"),
        f"{mine}/": links("/own", "/leave", "/busy", f"{other_port}/link"),
        f"{mine}/own": redirect("/own/target"),
        f"{mine}/leave": redirect(f"{other_address}/target"),
        f"{mine}/busy": [(500, {}, "no"), links()],
        f"{other_port}/robots.txt": redirect(f"{mine}/their-robots"),
    }
    into = tmp_path / "out"
    done = crawl(into, f"{mine}/", *HEADERS, "--set", "effects.retry_s=0.1")
    assert done.code == 0, done.words
    assert f"secret headers (authorization, COOKIE) are sent to {mine} and to no other origin" in done.words
    assert witness.asked() == {mine, other_address, other_port}
    for one in witness.received:
        own = one.origin == mine
        assert one.get("X-Plain") == "for everybody"
        assert one.get("Authorization") == (TOKEN if own else None), one
        assert one.get("Cookie") == (COOKIE if own else None), one
    paths = {one.path for one in witness.at(mine)}
    assert {"/robots.txt", "/map.xml", "/own", "/own/target", "/leave", "/their-robots"} <= paths
    assert [one.path for one in witness.at(mine)].count("/busy") == 2
    assert {"/robots.txt", "/link", "/map.xml"} <= {one.path for one in witness.at(other_port)}


def test_the_archive_shows_a_word_in_place_of_each_secret_and_is_sound(
    witness: Witness, mine: str, other_port: str, tmp_path: Path
) -> None:
    witness.pages = {"/": links("/a", f"{other_port}/b"), "/a": links(), "/b": links()}
    into = tmp_path / "out"
    assert crawl(into, f"{mine}/", *HEADERS).code == 0
    heads = requests_on_record(into)
    own = [head for head in heads if f"Host: {mine.removeprefix('http://')}\r\n" in head]
    assert own
    assert len(own) < len(heads)
    for head in heads:
        assert ("\r\nauthorization: redacted\r\nCOOKIE: redacted\r\n" in head) == (head in own)
        assert "\r\nX-Plain: for everybody\r\n" in head
    assert leaks(into, *SECRETS) == []
    assert mode(into / "job.toml") == "0o600"
    assert run("verify", str(into)).code == 0
    warc = next((into / "archive").glob("*.warc.gz"))
    from warcio.checker import Checker  # The tool `warcio check`.

    class Arguments:
        inputs = (str(warc),)
        verbose = False

    checker = Checker(Arguments())
    checker.process_all()
    assert checker.exit_value == 0


@pytest.mark.parametrize("umask", [0, 0o077, 0o777])
def test_resume_sends_them_again_and_makes_the_job_of_an_older_version_private(
    witness: Witness, mine: str, tmp_path: Path, umask: int
) -> None:
    witness.pages = {"/": links("/a", "/b"), "/a": links(), "/b": links()}
    into = tmp_path / "out"
    into.mkdir()
    crawl(into, f"{mine}/", *HEADERS, "--max-pages", "1")
    (into / "job.toml").chmod(0o644)
    before = os.umask(umask)
    try:
        # Under 0o777 nothing else could be made there.
        if umask != 0o777:
            done = run("resume", str(into), "--max-pages", "9")
            assert done.code == 0, done.words
        from whimbrel.job.stored import keep_job, stored_job

        keep_job(into, stored_job(into))
    finally:
        os.umask(before)
    assert mode(into / "job.toml") == "0o600"
    assert all(one.get("Authorization") == TOKEN for one in witness.received)
    assert leaks(into, *SECRETS) == []


def test_a_crawl_that_is_killed_leaves_no_secret_behind_in_its_tails_and_its_state(
    witness: Witness, mine: str, tmp_path: Path
) -> None:
    into = tmp_path / "out"
    asked, go_on = witness.held.setdefault("/hold", (threading.Event(), threading.Event()))
    witness.pages = {"/": links("/a", "/hold"), "/a": links(), "/hold": links()}
    seed = mine.replace("://", "://me:cookie-of-the-test@") + "/"
    command = [sys.executable, "-m", "whimbrel", "crawl", seed, *HEADERS, "--into", str(into), *OWN]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as crawling:
        assert asked.wait(60)
        assert run("control", str(into), "checkpoint").code == 0
        assert any("tail-" in path.name for path in (into / "facts").iterdir())
        assert leaks(into, *SECRETS) == []
        crawling.kill()
        assert crawling.stdout is not None
        assert not any(secret in crawling.stdout.read() for secret in SECRETS)
    go_on.set()
    assert leaks(into, *SECRETS) == []
    assert run("resume", str(into)).code == 0
    assert leaks(into, *SECRETS) == []
    assert all(one.get("Cookie") == COOKIE for one in witness.received)


def test_somebody_else_is_told_that_the_job_is_for_its_owner(witness: Witness, mine: str, tmp_path: Path) -> None:
    into = tmp_path / "out"
    crawl(into, f"{mine}/", *HEADERS)
    (into / "job.toml").chmod(0)  # To root everything is open; another user is somebody else anyway.
    me = os.geteuid()
    os.seteuid(65_534 if me == 0 else me)
    try:
        done = run("config", "show", str(into))
    finally:
        os.seteuid(me)
    assert done.code == 2
    assert "is for its owner alone, as it may hold passwords" in done.words


def test_a_secret_given_for_https_is_not_sent_over_http_nor_the_other_way_round(
    witness: Witness, mine: str, tmp_path: Path
) -> None:
    authority = Authority(tmp_path)
    (tmp_path / "hosts").write_text(f"127.0.0.1 {' '.join(NAMES)}\n")
    more = ("--ca", str(authority.path), "--set", f"resolver.hosts_file={tmp_path / 'hosts'}")
    with listening(witness, authority=authority) as secure:
        plain_port, secure_port = port_of(mine), port_of(secure)
        witness.pages = {
            f"{secure}/": links(f"http://a.test:{plain_port}/x", f"https://b.test:{secure_port}/y"),
            f"{secure}/down": redirect(f"http://a.test:{plain_port}/z"),
        }
        seeds = (f"https://a.test:{secure_port}/", f"https://A.TEST:{secure_port}/down")
        assert crawl(tmp_path / "out", *seeds, *HEADERS, *more).code == 0
        told = {
            (one.origin, (one.get("Host") or "").partition(":")[0]) for one in witness.received if one.get("Cookie")
        }
        assert told == {(secure, "a.test")}
        assert {one.path for one in witness.at(mine)} >= {"/x", "/z", "/robots.txt"}
        witness.received.clear()
        witness.pages = {f"{mine}/": redirect(f"https://a.test:{secure_port}/")}
        assert crawl(tmp_path / "up", f"http://a.test:{plain_port}/", *HEADERS, *more).code == 0
        assert witness.told("token-of-the-test") == {mine}
        assert secure in witness.asked()


def test_spellings_of_one_origin_are_one_and_names_with_a_dot_at_the_end_are_another(
    witness: Witness, mine: str, tmp_path: Path
) -> None:
    port = port_of(mine)
    (tmp_path / "hosts").write_text("127.0.0.1 a.test xn--bcher-kva.test\n")
    more = ("--set", f"resolver.hosts_file={tmp_path / 'hosts'}")
    witness.pages = {
        "/": links(f"http://A.Test:{port}/same", f"http://a.test.:{port}/dot", f"http://BÜCHER.test:{port}/idn"),
    }
    crawl(tmp_path / "out", f"http://a.test:0{port}/", f"http://bücher.test:{port}/", *HEADERS, *more)
    told = {(one.get("Host"), one.path) for one in witness.received if one.get("Cookie")}
    assert {(f"a.test:{port}", "/same"), (f"xn--bcher-kva.test:{port}", "/idn")} <= told
    assert not any((host or "").startswith("a.test.") for host, _ in told)


def test_ipv6_literals_are_origins_too(witness: Witness, mine: str, tmp_path: Path) -> None:
    with listening(witness, "::1") as six:
        witness.pages = {f"{six}/": links(f"{mine}/x"), f"{mine}/x": links(f"{six}/back")}
        assert crawl(tmp_path / "out", f"http://[0:0::1]:{port_of(six)}/", *HEADERS).code == 0
    assert witness.told("token-of-the-test") == {six}
    assert mine in witness.asked()


@pytest.mark.parametrize("name", ["X-Api-Key", "x-auth-token", "Private-Token", "X-ApiKey", "X-Amz-Security-Token"])
def test_other_names_of_secrets_are_known(
    witness: Witness, mine: str, other_port: str, tmp_path: Path, name: str
) -> None:
    witness.pages = {f"{mine}/": links(f"{other_port}/x")}
    crawl(tmp_path / "out", f"{mine}/", "--header", f"{name}: cookie-of-the-test")
    assert witness.told("cookie-of-the-test") == {mine}
    assert other_port in witness.asked()
    assert leaks(tmp_path / "out", *SECRETS) == []


def by_job(folder: Path, mine: str) -> tuple[str, ...]:
    (folder / "job.toml").write_text(f'seeds = ["{mine}/"]\nheader = ["Authorization: {TOKEN}"]\n')
    return "--job", str(folder / "job.toml")


def by_set(folder: Path, mine: str) -> tuple[str, ...]:
    return f"{mine}/", "--set", f'transport.headers={{Authorization="{TOKEN}"}}'


def by_seed_file(folder: Path, mine: str) -> tuple[str, ...]:
    (folder / "seeds.txt").write_text(f"{mine}/\n")
    return "--seeds", str(folder / "seeds.txt"), "--header", f"Authorization: {TOKEN}"


@pytest.mark.parametrize("way", [by_job, by_set, by_seed_file])
def test_however_it_is_given_it_is_bound_and_not_shown(
    witness: Witness, mine: str, other_port: str, tmp_path: Path, way: object
) -> None:
    witness.pages = {f"{mine}/": links(f"{other_port}/x")}
    assert callable(way)
    assert crawl(tmp_path / "out", *way(tmp_path, mine)).code == 0
    assert witness.told("token-of-the-test") == {mine}
    assert other_port in witness.asked()
    assert leaks(tmp_path / "out", *SECRETS) == []
    for shape in ((), ("--json",)):
        shown = run("config", "show", str(tmp_path / "out"), *shape)
        assert shown.code == 0, shown.err
        assert "token-of-the-test" not in shown.out
        assert "redacted" in shown.out
        assert "Authorization" in shown.out


def test_more_origins_can_be_named(witness: Witness, mine: str, other_port: str, tmp_path: Path) -> None:
    witness.pages = {f"{mine}/": redirect(f"{other_port}/x")}
    named = f'transport.credential_origins=["{mine}","{other_port}/"]'
    assert crawl(tmp_path / "out", f"{mine}/", *HEADERS, "--set", named).code == 0
    assert witness.told("token-of-the-test") == {mine, other_port}


def test_a_secret_can_be_given_for_one_of_several_seeds(
    witness: Witness, mine: str, other_port: str, tmp_path: Path
) -> None:
    job = f'seeds = ["{mine}", "{other_port}"]\n[set.transport.authorizations]\n"{other_port}/" = "{TOKEN}"\n'
    (tmp_path / "job.toml").write_text(job)
    assert crawl(tmp_path / "out", "--job", str(tmp_path / "job.toml")).code == 0
    assert witness.told("token-of-the-test") == {other_port}
    assert mine in witness.asked()
    assert leaks(tmp_path / "out", *SECRETS) == []


def test_a_header_for_one_run_is_bound_too_and_not_kept(
    witness: Witness, mine: str, other_port: str, tmp_path: Path
) -> None:
    into = tmp_path / "out"
    witness.pages = {f"{mine}/": links("/a", f"{other_port}/b")}
    crawl(into, f"{mine}/", "--max-pages", "1")
    done = run("resume", str(into), "--max-pages", "9", "--set", f'header=["Authorization: {TOKEN}"]')
    assert done.code == 0, done.words
    assert f"secret headers (Authorization) are sent to {mine} and to no other origin" in done.words
    assert witness.told("token-of-the-test") == {mine}
    assert other_port in witness.asked()
    assert leaks(into, *SECRETS, but=()) == []


def test_mistakes_are_told_without_the_secret(tmp_path: Path) -> None:
    for arguments in (
        ("http://127.0.0.1:9/", "--header", "Authorization token-of-the-test"),
        ("http://127.0.0.1:9/", "--set", "headers=token-of-the-test"),
        ("http://127.0.0.1:9/", "--proxy", "user:token-of-the-test@127.0.0.1:9"),
        ("http://127.0.0.1:9/", "--header", "Proxy-Authorization: token-of-the-test"),
        ("http://127.0.0.1:9/", "--seeds-from", "postgres://me:token-of-the-test@db/x", "select 1"),
        ("user:token-of-the-test@127.0.0.1",),
        ("http://user:token-of-the-test/@127.0.0.1",),
    ):
        done = crawl(tmp_path / "out", *arguments)
        assert done.code == 2, arguments
        assert not (tmp_path / "out").exists()
    wrong = 'transport.credential_origins=["mailto:token-of-the-test@a"]'
    assert "is not an origin" in crawl(tmp_path / "out", "http://127.0.0.1:9/", "--set", wrong).words
