"""What can be measured about the frontier."""

from typing import Final

from whimbrel.flow import Metric

FRONTIER: Final = (
    Metric("frontier_queued_urls", "gauge", "URLs that wait, those under way included.", lambda own: own.queued),
    Metric("frontier_visits_under_way", "gauge", "Visits that have begun and not ended.", lambda own: own.visiting),
    Metric("frontier_hosts", "gauge", "Hosts known so far.", lambda own: own.hosts),
    Metric("frontier_hosts_in_memory", "gauge", "Of these, in memory.", lambda own: len(own.table.loaded())),
    Metric("frontier_hosts_qualifying", "gauge", "Hosts with the qualifier.", lambda own: own.qualifying),
    Metric("frontier_due_seconds", "gauge", "Until the next host is due.", lambda own: own.due_in_s() or 0.0),
    Metric("frontier_paused", "gauge", "1 while the crawl is paused.", lambda own: float(own.gate.paused)),
)
