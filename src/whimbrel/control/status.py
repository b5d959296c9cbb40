"""What can be seen of a running crawl."""

import os
from typing import Any

import msgspec

from whimbrel.control.machine import cpu_s, memory_bytes, memory_limit_bytes, stored_bytes
from whimbrel.control.warning import Vitals, Warning_, warnings
from whimbrel.flow import Sync
from whimbrel.flow.graph import component_of
from whimbrel.flow.wiring import used_name
from whimbrel.job.live_crawl import LiveCrawl
from whimbrel.job.progress import Progress
from whimbrel.result.rows import host_row
from whimbrel.version import __version__


class Status(msgspec.Struct, frozen=True, kw_only=True):
    """A crawl at this moment."""

    directory: str
    """The crawl's."""
    state: str
    """`running`, `paused`, or `draining` when it is being stopped."""
    version: str
    """Of Whimbrel."""
    pid: int
    """Of the crawl's process; 0 when none runs."""
    progress: Progress
    """Its numbers."""
    commit: int
    """The number of the last commit."""
    commit_age_s: float
    """Seconds since the last commit."""
    memory_bytes: int
    """Resident memory of the process."""
    cpu_s: float
    """CPU time of the process, user and system."""
    disk_free_bytes: int
    """Room for the directory."""
    stored_bytes: dict[str, int]
    """On disk: `archive`, `tables` and `state`."""
    warnings: list[Warning_]
    """What is wrong, the gravest first."""


class HostView(msgspec.Struct, frozen=True):
    """A host as it is now, under the columns of the table `hosts`; there it stands as it was when something happened to
    it."""

    site: str
    """Scheme, name and port."""
    host: str
    """The name alone."""
    domain: str
    """Its registered domain."""
    slot: int
    """Of 1,024, by which hosts are shared out."""
    ip: str
    """The address that answered last."""
    qualification: str
    """`qualified`, `disqualified`, `for-good`, `parked`, `given-up` or `new`."""
    until: float | None
    """When it is qualified again, in seconds since 1970."""
    robots_date: float | None
    """When robots.txt was last asked for, likewise."""
    robots_status: int
    """Of the answer; 0 for none."""
    robots_failures: int
    """Tries in a row that failed."""
    delay_s: float
    """The Crawl-delay of its robots.txt."""
    queued: int
    """URLs without a final outcome."""
    fetched: int
    """Visits that went well."""
    failed: int
    """Visits that did not."""
    last_error: str
    """In words."""


class PartView(msgspec.Struct, frozen=True, kw_only=True):
    """A component or provider of the live wiring."""

    name: str
    """In the wiring."""
    use: str
    """What it is: a registered name."""
    kind: str
    """`component` or `provider`."""
    instances: int = 1
    """How many of it run side by side."""
    place: str = "loop"
    """Where a component runs: `loop` or `thread`."""
    handled: int = 0
    """Items that it has taken in; for a source, given out."""
    needs: dict[str, str] = {}
    """The providers it uses, by what it calls them."""


class JointView(msgspec.Struct, frozen=True, kw_only=True):
    """A connector of the live wiring."""

    source: str
    """`component.port`."""
    target: str
    """`component.port`."""
    kind: str
    """`queue` or `direct`."""
    capacity: int = 0
    """0 for a direct one, which holds nothing."""
    queued: int = 0
    """Items in it, those in the hands of its consumer included."""
    passed: int = 0
    """Items that have left it."""


class WiringView(msgspec.Struct, frozen=True, kw_only=True):
    """The live wiring."""

    name: str
    """Of the wiring."""
    parts: list[PartView]
    """Components, then providers."""
    connectors: list[JointView]
    """Between components."""


def status(running: LiveCrawl) -> Status:
    progress = running.progress() or Progress()
    found = os.statvfs(running.directory)
    free = found.f_bavail * found.f_frsize
    up = running.up
    paused = up and running.gate.paused
    used = memory_bytes()
    return Status(
        directory=str(running.directory),
        state="paused" if paused and running.job.state == "running" else running.job.state,
        version=__version__,
        pid=os.getpid(),
        progress=progress,
        commit=running.journal.last.number if up else 0,
        commit_age_s=round(running.journal.age_s, 3) if up else 0.0,
        memory_bytes=used,
        cpu_s=round(cpu_s(), 3),
        disk_free_bytes=free,
        stored_bytes=stored_bytes(running.directory),
        warnings=warnings(_vitals(running, progress, free, used)) if up else [],
    )


def _vitals(running: LiveCrawl, progress: Progress, free: int, used: int) -> Vitals:
    frontier, effects = running.frontier, running.effects
    return Vitals(
        progress=progress,
        due_in_s=frontier.due_in_s(),
        qualifying_most=frontier.qualifying_limit,
        standings=dict(effects.counters.qualifications),
        trap=max(effects.counting.dropped_by_host.items(), key=lambda pair: pair[1], default=("", 0)),
        disk_free_bytes=free,
        disk_reserve_bytes=running.journal.config.reserve_bytes,
        memory_bytes=used,
        memory_limit_bytes=memory_limit_bytes(),
    )


def host_views(running: LiveCrawl, search: str, order: str, most: int) -> list[HostView]:
    """Hosts in memory, which all are that had something to do lately, as they are now."""
    hosts = (host_row(host) for host in running.frontier.loaded() if search in host.name.site)
    found = [HostView(*msgspec.structs.astuple(row)) for row in hosts]
    found.sort(key=lambda view: (view.host, view.site))
    if order != "host":
        found.sort(key=lambda view: -int(getattr(view, order)))
    return found[:most]


def wiring_view(running: LiveCrawl) -> WiringView:
    graph = running.job.graph
    wiring = graph.wiring
    joints = [
        JointView(
            source=one.source,
            target=one.target,
            kind=one.kind,
            **_queue(graph.queues.get(one.name)),
        )
        for one in wiring.connectors
    ]
    handled = _handled(running, joints)
    parts = [
        PartView(
            name=spec.name,
            use=used_name(spec.use),
            kind="component",
            instances=spec.instances,
            place=spec.place,
            handled=handled[spec.name],
            needs=dict(spec.needs),
        )
        for spec in wiring.components
    ]
    parts += [
        PartView(name=spec.name, use=used_name(spec.use), kind="provider", needs=dict(spec.needs))
        for spec in wiring.providers
    ]
    return WiringView(name=wiring.name, parts=parts, connectors=joints)


def _queue(queue: Any) -> dict[str, int]:
    if queue is None:
        return {}
    return {
        "capacity": queue.capacity,
        "queued": queue.queued + queue.unacknowledged,
        "passed": queue.passed,
    }


def _handled(running: LiveCrawl, joints: list[JointView]) -> dict[str, int]:
    """What each component has taken in. One that others call directly gets about what its caller does: of the crawler's
    own chain, exactly that."""
    graph = running.job.graph
    taken: dict[str, int] = dict.fromkeys(graph.instances, 0)
    given: dict[str, int] = dict.fromkeys(graph.instances, 0)
    for joint in joints:
        taken[component_of(joint.target)] += joint.passed
        given[component_of(joint.source)] += joint.passed
    for joint in joints:
        if joint.kind == "direct" and all(
            isinstance(i.component, Sync) for i in graph.instances[component_of(joint.source)]
        ):
            taken[component_of(joint.target)] = taken[component_of(joint.source)]
    return {name: taken[name] or given[name] for name in graph.instances}
