"""What is wrong with a crawl, or slows it down: the cause in words, and the remedy. A function of numbers alone."""

from collections.abc import Callable, Mapping
from typing import Final

import msgspec

from whimbrel.job.bound import BUSY
from whimbrel.job.progress import Progress

_LACKS: Final = {
    "directory": (
        "the crawl's directory takes no data",
        "see that it is there and can be written to: the crawl goes on by itself, and nothing is lost",
    ),
    "open-files": (
        "this machine has no file descriptors left",
        "the crawl goes on by itself when there are some; or stop it and raise the limit: ulimit -n",
    ),
    "memory": ("this machine has no memory left", "the crawl goes on by itself when there is some"),
    "software": ("a commit cannot be made", "this is a fault of Whimbrel, not of the disk: please report it"),
    "certificates": ("no TLS connection can be made", "see that the trusted certificates can be read (--ca)"),
}
_DISK_NEAR: Final = 4
"""Times the reserve."""
_MEMORY_NEAR: Final = 0.85
_TRAP_URLS: Final = 500
_HOSTS_JUDGED: Final = 10
_FAILING_SHARE: Final = 0.5
_WAIT_S: Final = 1.0


class Warning_(msgspec.Struct, frozen=True):  # noqa: N801 - `Warning` is Python's
    """Something that is wrong with a crawl, or slows it down."""

    code: str
    """A word that does not change, for programs."""
    cause: str
    """In words."""
    remedy: str
    """What to do about it."""


class Vitals(msgspec.Struct, frozen=True, kw_only=True):
    """What a judgement is made of."""

    progress: Progress
    due_in_s: float | None
    qualifying_most: int
    standings: Mapping[str, int]
    """How many qualifications of hosts ended how."""
    trap: tuple[str, int]
    """The host of which limits have cut the most URLs, and how many."""
    disk_free_bytes: int
    disk_reserve_bytes: int
    memory_bytes: int
    memory_limit_bytes: int


def warnings(now: Vitals) -> list[Warning_]:
    """The gravest first."""
    return [found for judge in _JUDGES if (found := judge(now)) is not None]


def _machine(now: Vitals) -> Warning_ | None:
    """What this machine lacks besides disk space."""
    lacks = now.progress.lacks
    if lacks in ("", "disk"):
        return None
    cause, remedy = _LACKS[lacks]
    return Warning_("machine-short", f"{cause}: {now.progress.trouble}", remedy)


def _disk(now: Vitals) -> Warning_ | None:
    if now.progress.lacks == "disk":
        return Warning_(
            "disk-full",
            f"the disk takes no data: {now.progress.trouble}",
            "make room: the crawl goes on by itself, and nothing is lost",
        )
    if now.disk_free_bytes < _DISK_NEAR * now.disk_reserve_bytes:
        return Warning_(
            "disk-nearly-full",
            f"{now.disk_free_bytes / 1e9:.1f} GB are free; the crawl pauses at {now.disk_reserve_bytes / 1e9:.1f} GB",
            "make room, or stop the crawl and move its directory",
        )
    return None


def _memory(now: Vitals) -> Warning_ | None:
    if now.memory_bytes < _MEMORY_NEAR * now.memory_limit_bytes:
        return None
    return Warning_(
        "memory-nearly-full",
        f"{now.memory_bytes / 1e6:,.0f} MB are in use of {now.memory_limit_bytes / 1e6:,.0f} MB",
        "stop the crawl and resume it with smaller caches: --set frontier.hosts_bytes=16000000 "
        "--set journal.group_bytes=4000000",
    )


def _robots(now: Vitals) -> Warning_ | None:
    total = sum(now.standings.values())
    failed = now.standings.get("robots-unreachable", 0)
    if total < _HOSTS_JUDGED or failed < _FAILING_SHARE * total:
        return None
    return Warning_(
        "robots-failing",
        f"robots.txt could not be obtained in {failed:,} of {total:,} tries",
        "see hosts.last_error; if it is so everywhere, this machine's network, proxy or --user-agent is refused",
    )


def _dns(now: Vitals) -> Warning_ | None:
    total = sum(now.standings.values())
    failed = now.standings.get("dns", 0)
    if total >= _HOSTS_JUDGED and failed >= _FAILING_SHARE * total:
        return Warning_(
            "dns-failing",
            f"{failed:,} of {total:,} tries to find a host's address failed",
            "see that the name server answers: whimbrel fetch URL; choose another with --resolver",
        )
    if now.progress.bound == "names" and now.progress.qualifying >= now.qualifying_most:
        return Warning_(
            "dns-bound",
            f"{now.progress.qualifying:,} new hosts wait for DNS and robots.txt, which is the most at once",
            "more at once: --set frontier.qualifying=1000 --set qualifier.parallel=1000 "
            "--set transport.connections=2000; or a nearer name server",
        )
    return None


def _trap(now: Vitals) -> Warning_ | None:
    host, count = now.trap
    if count < _TRAP_URLS:
        return None
    return Warning_(
        "trap",
        f"{host} is a trap: limits have cut {count:,} of its URLs",
        "see what they look like in fetches, where outcome = 'dropped' and host is this one; then "
        f"`whimbrel control DIR block {host}`",
    )


def _polite(now: Vitals) -> Warning_ | None:
    if now.progress.bound != "politeness" or not _idle(now):
        return None
    return Warning_(
        "all-hosts-wait",
        f"all hosts wait for their turn; the next is due in {now.due_in_s:.0f} s",
        "this is politeness, not a fault: more hosts would make use of the time, or for your own servers "
        "`whimbrel control DIR speed --delay 0s`",
    )


def _retries(now: Vitals) -> Warning_ | None:
    if now.progress.bound != "retry" or not _idle(now):
        return None
    return Warning_(
        "retries-wait",
        f"nothing can be visited but URLs that failed and are tried again; the next in {now.due_in_s:.0f} s",
        "wait, or `whimbrel control DIR stop`: they stay queued. For your own servers: --set effects.retry_s=5",
    )


def _idle(now: Vitals) -> bool:
    """Nothing is under way, and nothing will be for a while."""
    progress = now.progress
    waits = now.due_in_s is not None and now.due_in_s >= _WAIT_S
    return bool(progress.queued and waits and not progress.visiting and not progress.qualifying)


def _processor(now: Vitals) -> Warning_ | None:
    if now.progress.bound != "processor" or now.progress.cpu_share < BUSY:
        return None
    return Warning_(
        "processor-bound",
        f"the crawl uses {now.progress.cpu_share:.0%} of a processor: parsing and packing set the pace",
        "a faster machine, or more nodes; less work: --set journal.text=false",
    )


_JUDGES: Final[tuple[Callable[[Vitals], Warning_ | None], ...]] = (
    *(_machine, _disk, _memory, _robots, _dns, _trap, _polite, _retries, _processor),
)
