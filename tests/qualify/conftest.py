"""A simulated web in a process of its own, for all tests of qualification."""

from collections.abc import Iterator

import pytest

from tests.sim.web import Served, serve
from whimbrel.simweb.spec import WebSpec


@pytest.fixture(scope="session")
def web(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    spec = WebSpec(hosts=60, pages=3, https=0.5)
    with serve(spec, tmp_path_factory.mktemp("qualify") / "web") as served:
        yield served
