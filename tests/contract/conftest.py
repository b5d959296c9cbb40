"""What suites on a real database share."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.frontier.rig import opened_state, quick_directory
from whimbrel.state.rocks import RocksState


@pytest.fixture
def directory() -> Iterator[Path]:
    with quick_directory() as found:
        yield found


@pytest.fixture
def state(directory: Path) -> Iterator[RocksState]:
    state = opened_state(directory)
    yield state
    asyncio.run(state.close())
