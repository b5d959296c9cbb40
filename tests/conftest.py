"""What holds for all tests."""

from typing import Final

import pytest
from hypothesis import settings

# How long an example takes says something about the machine, not about what is tested.
settings.register_profile("whimbrel", deadline=None)
settings.load_profile("whimbrel")

_LONG_S: Final = 1_800


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Those that take minutes may."""
    for item in items:
        if item.get_closest_marker("long") is not None and item.get_closest_marker("timeout") is None:
            item.add_marker(pytest.mark.timeout(_LONG_S))
