"""A simulated web in a process of its own, for all tests of fetching."""

from collections.abc import Iterator

import pytest

from tests.sim.web import Served, serve
from whimbrel.simweb.spec import WebSpec


@pytest.fixture(scope="session")
def web(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Enough hosts that each exhibit can have one of its own, half of them on https."""
    spec = WebSpec(hosts=300, pages=20, page_bytes=28_000, https=0.5)
    with serve(spec, tmp_path_factory.mktemp("fetch") / "web") as served:
        yield served
