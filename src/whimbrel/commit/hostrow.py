"""A host as a row of its table."""

from whimbrel.facts.row import HostRow
from whimbrel.frontier.api import HostSummary


def host_row(host: HostSummary) -> HostRow:
    name = host.name
    return HostRow(
        site=name.site,
        host=name.host,
        domain=name.domain,
        slot=name.slot,
        ip=host.address,
        qualification=host.standing,
        until=host.until_s,
        robots_date=host.robots_at_s,
        robots_status=host.robots_status,
        robots_failures=host.failures,
        delay_s=host.crawl_delay_s,
        queued=host.queued,
        fetched=host.fetched,
        failed=host.failed,
        last_error=host.last_error,
    )
