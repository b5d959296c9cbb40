"""`user:password@` of a seed is Basic authorization for its origin, and is in no URL that anybody sees."""

from base64 import b64encode
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.command import Done, run
from tests.credential.witness import Witness, leaks, links, listening, mode, redirect, requests_on_record
from whimbrel.program.crawl import Crawl

OWN = ("--delay", "0s", "--allow-network", "127.0.0.0/8", "--scope", "any")
USER, PASSWORD = "user-of-test", "p@ss:wörd/of-test"
WRITTEN = "user%2Dof-test:p%40ss:w%C3%B6rd%2Fof-test"
BASIC = "Basic " + b64encode(f"{USER}:{PASSWORD}".encode()).decode()
SECRETS = ("user-of-test", "user%2Dof-test", "of-test@", "w%C3%B6rd", BASIC.removeprefix("Basic "))


@pytest.fixture
def witness() -> Witness:
    return Witness()


@pytest.fixture
def mine(witness: Witness) -> Iterator[str]:
    with listening(witness) as origin:
        yield origin


@pytest.fixture
def other(witness: Witness) -> Iterator[str]:
    with listening(witness) as origin:
        yield origin


def secretive(done: Done) -> Done:
    for secret in SECRETS:
        assert secret not in done.out + done.err
    return done


def with_login(origin: str, login: str = WRITTEN) -> str:
    return origin.replace("://", f"://{login}@")


def test_it_is_sent_to_its_origin_alone_and_is_nowhere_to_be_seen(
    witness: Witness, mine: str, other: str, tmp_path: Path
) -> None:
    witness.pages = {
        f"{mine}/": links("/a", f"{other}/b", with_login(other, "link:password")),
        f"{mine}/a": redirect(with_login(other, "moved:password") + "/c"),
    }
    into = tmp_path / "out"
    done = secretive(run("crawl", with_login(mine) + "/", "--into", str(into), "--log", "json", "--json", *OWN))
    assert done.code == 0, done.words
    assert {one.get("Authorization") for one in witness.at(mine)} == {BASIC}
    assert {one.path for one in witness.at(other)} >= {"/", "/b", "/c", "/robots.txt"}
    assert {one.get("Authorization") for one in witness.at(other)} == {None}
    assert any("\r\nAuthorization: redacted\r\n" in head for head in requests_on_record(into))
    assert leaks(into, *SECRETS) == []
    assert mode(into / "job.toml") == "0o600"
    rows = secretive(run("query", str(into), "select url from fetches union all select subject from events"))
    assert f"{mine}/" in rows.out
    for asked in (
        ("status", str(into), "--json"),
        ("why", str(into), with_login(mine) + "/"),
        ("why", str(into), f"{mine}/", "--json"),
        ("config", "show", str(into)),
        ("config", "show", str(into), "--json"),
        ("graph", str(into)),
        ("verify", str(into)),
    ):
        assert secretive(run(*asked)).code == 0, asked
    shown = run("config", "show", str(into), "--json").json()
    assert shown["seeds"]["value"] == [with_login(mine, "redacted") + "/"]
    assert shown["transport.authorizations"]["value"] == {mine: "redacted"}
    assert shown["router.seeds"]["value"] == [f"{mine}/"]


def test_resume_knows_it(witness: Witness, mine: str, tmp_path: Path) -> None:
    witness.pages = {"/": links("/a"), "/a": links()}
    into = tmp_path / "out"
    secretive(run("crawl", with_login(mine), "--into", str(into), "--max-pages", "1", *OWN))
    secretive(run("resume", str(into), "--max-pages", "9"))
    assert {"/", "/a"} <= {one.path for one in witness.received}
    assert {one.get("Authorization") for one in witness.received} == {BASIC}
    assert leaks(into, *SECRETS) == []


def test_it_comes_before_a_header_that_is_for_all_seeds(
    witness: Witness, mine: str, other: str, tmp_path: Path
) -> None:
    general = ("--header", "AUTHORIZATION: Bearer general", "--header", "X-Api-Key: both")
    run("crawl", with_login(mine), other, "--into", str(tmp_path / "out"), *general, *OWN)
    assert {one.get("Authorization") for one in witness.at(mine)} == {BASIC}
    assert {one.get("Authorization") for one in witness.at(other)} == {"Bearer general"}
    assert {one.get("X-Api-Key") for one in witness.received} == {"both"}


def test_files_of_seeds_and_a_user_without_a_password(witness: Witness, mine: str, tmp_path: Path) -> None:
    (tmp_path / "seeds.txt").write_text(f"{with_login(mine, 'somebody')}/\n{mine}/x\n")
    run("crawl", "--seeds", str(tmp_path / "seeds.txt"), "--into", str(tmp_path / "out"), *OWN)
    assert {one.get("Authorization") for one in witness.received} == {"Basic " + b64encode(b"somebody:").decode()}


def test_two_passwords_for_one_origin_and_a_user_that_cannot_be_said_are_refused(mine: str, tmp_path: Path) -> None:
    for seeds in ((with_login(mine), with_login(mine, "other:word")), (with_login(mine, "user%3Aof-test:x"),)):
        done = secretive(run("crawl", *seeds, "--into", str(tmp_path / "out"), *OWN))
        assert done.code == 2
        assert mine in done.words
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("shape", [(), ("--json",)])
def test_fetch_knows_it_too(witness: Witness, mine: str, other: str, shape: tuple[str, ...]) -> None:
    witness.pages = {f"{mine}/robots.txt": redirect(f"{other}/robots.txt"), f"{mine}/": redirect(f"{other}/")}
    more = ("--header", "X-Token: user-of-test", "--header", "X-Plain: yes", "--allow-network", "127.0.0.0/8")
    done = secretive(run("fetch", with_login(mine), *shape, *more))
    assert done.code == 0, done.words
    assert witness.told("user-of-test") == {mine}
    assert {one.get("X-Plain") for one in witness.received} == {"yes"}
    assert {one.get("Authorization") for one in witness.at(mine)} == {BASIC}
    assert {one.get("Authorization") for one in witness.at(other)} == {None}


def test_the_python_api_knows_it_too(witness: Witness, mine: str, other: str, tmp_path: Path) -> None:
    witness.pages = {f"{mine}/": links(f"{other}/")}
    given = Crawl(
        with_login(mine), header=["X-Token: token-of-test"], delay=0, scope="any", allow_network=["127.0.0.0/8"]
    )
    said: list[str] = []
    given.run(tmp_path / "out", say=said.append)
    assert witness.told("token-of-test") == witness.told(BASIC) == {mine}
    assert other in witness.asked()
    assert leaks(tmp_path / "out", *SECRETS, "token-of-test") == []
    assert mode(tmp_path / "out" / "job.toml") == "0o600"
    assert not any(secret in text for secret in SECRETS for text in said)
