"""What keeps a crawl from being faster: one reason at a time. Display, dashboard and warnings all tell this one."""

from typing import Final, Literal, NamedTuple

from whimbrel.commit.journal import Journal
from whimbrel.frontier.api import OPERATOR, Frontier

BoundCode = Literal[
    "", "closed", "commit", "page-limit", "speed-limit", "processor", "connections", "names", "retry", "politeness"
]
BUSY: Final = 0.95
"""Of one processor over the last seconds: with visits under way, nothing else is the reason then."""
_SOON_S: Final = 0.001
_CLOSED_FOR: Final = {
    OPERATOR: "the operator, who paused it (`whimbrel control DIR unpause`)",
    "disk": "the disk, which takes no data",
    "directory": "the crawl's directory, which takes no data",
    "open-files": "this machine, which has no file descriptors left",
    "memory": "this machine, which has no memory left",
    "software": "a commit that cannot be made",
    "seeds": "seeds that are being added",
    "certificates": "the trusted certificates, which cannot be read",
}


class Bound(NamedTuple):
    code: BoundCode
    text: str


def bound_of(frontier: Frontier, journal: Journal, connections: int, cpu_share: float) -> Bound:
    closed_for = frontier.closed_for
    if closed_for:
        return Bound("closed", " and ".join(_CLOSED_FOR.get(reason, reason) for reason in sorted(closed_for)))
    if journal.behind:
        return Bound("commit", "the disk: the last commit is not done")
    if frontier.exhausted:
        return Bound("page-limit", "the limit on pages (--max-pages)")
    if frontier.limited:
        return Bound("speed-limit", "the limit on speed (--max-pages-per-s, --max-rate)")
    wait = _wait(frontier)
    if wait is not None and not frontier.visiting:
        return wait
    if cpu_share >= BUSY:
        return _PROCESSOR
    if frontier.visiting >= connections:
        return Bound("connections", "connections (--connections)")
    return wait or _PROCESSOR


_PROCESSOR: Final = Bound("processor", "this machine's processor")


def _wait(frontier: Frontier) -> Bound | None:
    if frontier.qualifying and (not frontier.visiting or frontier.qualifying >= frontier.qualifying_limit):
        return Bound("names", "DNS and robots.txt of new hosts")
    due_s = frontier.due_in_s()
    if due_s is None or due_s <= 0:
        return None
    retry_s = frontier.retry_in_s()
    if retry_s is not None and retry_s <= due_s + _SOON_S:
        return Bound("retry", f"a second try of a URL that failed, in {retry_s:.1f} s")
    return Bound("politeness", f"politeness: the next host is due in {due_s:.1f} s")
