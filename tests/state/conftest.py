"""The same as for the suites of contracts."""

from tests.contract.conftest import directory, state

__all__ = ["directory", "state"]
