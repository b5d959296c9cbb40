"""A host as a row of its table."""

from typing import Any

from whimbrel.frontier.host import Host


def host_row(host: Host) -> tuple[Any, ...]:
    record, name = host.record, host.record.name
    found = record.qualification
    standing, until_s, address, at_s, status, failures, delay_s = "new", None, "", None, 0, 0, 0.0
    if found is not None:
        standing, until_s, at_s = found.standing, found.until_s, found.robots_at_s or None
        address = found.addresses[0] if found.addresses else ""
        status, failures, delay_s = found.robots_status, found.failures, found.crawl_delay_s
    if record.given_up:
        standing = "given-up"
    elif record.parked:
        standing = "parked"
    return (
        *(name.site, name.domain, int.from_bytes(host.id[:2], "big"), address, standing, until_s, at_s, status),
        *(failures, delay_s, record.queued, record.fetched, record.failed, record.last_error),
    )
