"""Whether the library of the dashboard is installed."""

from importlib import import_module

from whimbrel.error import UsageError


class DashboardError(UsageError):
    """The dashboard cannot be served; the message says why and what to do."""


def require_library() -> None:
    """DashboardError when it is not."""
    try:
        import_module("nicegui")
    except ModuleNotFoundError as error:
        raise missing(error) from error


def missing(error: ModuleNotFoundError) -> DashboardError:
    return DashboardError(f"{error.name} is missing; the dashboard needs: pip install 'whimbrel[dashboard]'")
