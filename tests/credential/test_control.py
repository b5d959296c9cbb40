"""Credentials of a crawl that is steered: seeds and headers that come while it runs."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.cli.command import Done, run
from tests.credential.witness import Witness, leaks, links, listening, mode
from whimbrel.program.crawl import Crawl

SECRETS = ("token-of-test", "password-of-test", "header-of-test", "proxy-of-test")


@contextmanager
def running(witness: Witness, seed: str, into: Path, **options: object) -> Iterator[list[str]]:
    """A crawl that waits for an answer; it goes on to its end when this is left. What it says."""
    asked, go_on = witness.held.setdefault("/hold", (threading.Event(), threading.Event()))
    said: list[str] = []
    given = Crawl(seed, delay=0, scope="any", allow_network=["127.0.0.0/8"], **options)  # type: ignore[arg-type]
    thread = threading.Thread(target=given.run, args=(into,), kwargs={"say": said.append})
    thread.start()
    try:
        assert asked.wait(60)
        yield said
    finally:
        go_on.set()
        thread.join()


def control(into: Path, *arguments: str) -> Done:
    done = run("control", str(into), *arguments)
    assert done.code == 0, done.words
    for secret in SECRETS:
        assert secret not in done.out + done.err
    return done


@pytest.fixture
def witness() -> Witness:
    return Witness()


def test_a_seed_that_is_added_brings_its_own_password_and_gets_no_other(witness: Witness, tmp_path: Path) -> None:
    into = tmp_path / "out"
    with listening(witness) as mine, listening(witness) as other, listening(witness) as third:
        header = ["Cookie: token-of-test"]
        with running(witness, f"{mine}/hold", into, header=header) as said:
            assert mode(into / "control.json") == "0o600"
            control(into, "seed", other.replace("://", "://me:password-of-test@") + "/", f"{third}/")
            assert "redacted" in control(into, "config").out
            refused = run("control", str(into), "seed", other.replace("://", "://me:token-of-test@") + "/x")
            assert refused.code == 1
            assert "token-of-test" not in refused.words
        assert {one.get("Authorization") for one in witness.at(mine)} == {None}
        assert all((one.get("Authorization") or "").startswith("Basic ") for one in witness.at(other))
        assert {"/robots.txt", "/"} == {one.path for one in witness.at(other)}
        assert witness.told("token-of-test") == {mine}
        assert witness.asked() == {mine, other, third}
        assert leaks(into, *SECRETS) == []
        assert mode(into / "job.toml") == "0o600"
        assert not any(secret in text for secret in SECRETS for text in said)


def test_headers_that_are_set_while_it_runs_are_bound_and_not_told(witness: Witness, tmp_path: Path) -> None:
    into = tmp_path / "out"
    with listening(witness) as mine, listening(witness) as other:
        witness.pages = {f"{mine}/hold": links("/next", f"{other}/")}
        with running(witness, f"{mine}/hold", into) as said:
            control(into, "set", 'header=["X-Token: header-of-test", "X-Plain: yes"]')
            control(into, "set", 'transport.headers={Cookie="token-of-test"}')
            control(into, "config")
        after = [one for one in witness.received if one.path == "/next" or one.origin == other]
        assert {one.path for one in after} >= {"/next", "/robots.txt", "/"}
        assert witness.told("token-of-test") == {mine}
        assert leaks(into, *SECRETS) == []
        events = run("query", str(into), "select * from events", "--format", "json").out
        assert "redacted" in events
        assert not any(secret in text for secret in SECRETS for text in (*said, events))
