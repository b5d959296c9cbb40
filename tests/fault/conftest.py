"""One faulty web for all tests of this folder, and what a crawl of it finds when nothing happens."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fault.crawl import Result, faulty, result
from tests.sim.crawl import crawled
from tests.sim.web import Served, serve


@pytest.fixture(scope="session")
def small(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """About a hundred URLs on six hosts."""
    with serve(faulty(6, 12), tmp_path_factory.mktemp("web") / "small") as served:
        yield served


@pytest.fixture(scope="session")
def medium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """About 1,500 URLs on twenty hosts, which take a few seconds."""
    with serve(faulty(20, 60, latency_ms=10), tmp_path_factory.mktemp("web") / "medium") as served:
        yield served


@pytest.fixture(scope="session")
def medium_result(medium: Served, tmp_path_factory: pytest.TempPathFactory) -> Result:
    into: Path = tmp_path_factory.mktemp("reference") / "medium"
    crawled(medium, into)
    return result(into)


@pytest.fixture(scope="session")
def small_result(small: Served, tmp_path_factory: pytest.TempPathFactory) -> Result:
    into: Path = tmp_path_factory.mktemp("reference") / "small"
    crawled(small, into)
    return result(into)
