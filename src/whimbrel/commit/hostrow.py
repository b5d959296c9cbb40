"""A host as a row of its table."""

from typing import Any

import msgspec

from whimbrel.frontier.api import HostSummary


def host_row(host: HostSummary) -> tuple[Any, ...]:
    name, *rest = msgspec.structs.astuple(host)
    return (name.site, name.domain, name.slot, *rest)
