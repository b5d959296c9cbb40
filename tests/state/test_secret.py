"""The secret belongs to the crawl: it is there before the first commit, and lost only together with the state."""

import asyncio
from pathlib import Path

import pytest

from tests.frontier.rig import opened_state
from whimbrel.state.api import StateDamaged


def secret(directory: Path, *, commit: bool = False) -> bytes:
    """As a state finds it; `commit` makes the state's copy durable."""
    state = opened_state(directory)
    if commit:
        group = state.seal(1)
        state.write(group)
    asyncio.run(state.close())
    return state.secret


def test_a_secret_is_made_once_and_nobody_else_can_read_it(directory: Path) -> None:
    first = secret(directory)
    assert len(first) == 16
    assert secret(directory) == first, "also before the first commit"
    path = directory / "secret"
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.read_text() == first.hex() + "\n"
    assert not path.with_name("secret.tmp").exists()


def test_two_crawls_have_two_secrets_and_two_states_of_one_crawl_have_one(directory: Path) -> None:
    first, second = secret(directory / "one"), secret(directory / "two")
    assert first != second
    copy = directory / "copy"
    copy.mkdir()
    (copy / "secret").write_bytes((directory / "one" / "secret").read_bytes())
    assert secret(copy) == first


def test_a_lost_secret_comes_back_from_the_state(directory: Path) -> None:
    first = secret(directory, commit=True)
    (directory / "secret").unlink()
    assert secret(directory) == first
    assert (directory / "secret").exists()


@pytest.mark.parametrize("text", ["00" * 16, "", "no secret"])
def test_a_wrong_secret_is_refused_and_nothing_changes(directory: Path, text: str) -> None:
    first = secret(directory, commit=True)
    (directory / "secret").write_text(text)
    with pytest.raises(StateDamaged, match="secret"):
        opened_state(directory)
    assert (directory / "secret").read_text() == text
    (directory / "secret").unlink()
    assert secret(directory) == first
