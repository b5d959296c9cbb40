"""What is blocked, and more or less of it: for a crawl that runs, and for the job of one that does not."""

from collections.abc import Iterable, Sequence

from whimbrel.control.api import Block, Refused, Unblock
from whimbrel.terminal import counted
from whimbrel.url.block_list import BlockList, Place, is_pattern


def more_blocked(known: tuple[str, ...], action: Block) -> tuple[str, ...]:
    """The whole list afterwards; what is new stands at its end. Refused when nothing is new."""
    new = tuple(dict.fromkeys(what for what in action.what if what not in known))
    if not new:
        raise Refused("all of that is blocked already")
    return (*known, *new)


def less_blocked(known: tuple[str, ...], action: Unblock) -> tuple[str, ...]:
    """The whole list afterwards. Refused when something is not in it."""
    unknown = [what for what in action.what if what not in known]
    if unknown:
        raise Refused(f"{unknown[0]!r} is not blocked; blocked are: {', '.join(known) or 'none'}")
    return tuple(what for what in known if what not in action.what)


def hosts_in(block: Iterable[str]) -> BlockList:
    """The hosts and sites among what is blocked, without the patterns."""
    return BlockList(what for what in block if not is_pattern(what))


def what_waits(
    new: Sequence[str], known: Sequence[str], hosts: Iterable[tuple[Place, int]], queued: int
) -> tuple[int, bool]:
    """How many queued URLs wait because of what is blocked now, and whether nothing else is queued. `hosts` come with
    the number of their queued URLs; `queued` are the URLs of all hosts, also of those that are not among them."""
    now, all_blocked = hosts_in(new), hosts_in((*known, *new))
    waiting = held = 0
    for host, count in hosts:
        waiting += count if now.holds(host) else 0
        held += count if all_blocked.holds(host) else 0
    return waiting, bool(waiting) and held >= queued


def block_effect(new: Sequence[str], waiting: int, *, ends: bool) -> str:
    names = f"{', '.join(new[:5])}{' …' if len(new) > 5 else ''}"
    said = f"no more requests to {names}"
    if waiting:
        said += f"; {counted(waiting, 'queued URL')} {'waits' if waiting == 1 else 'wait'} until that is unblocked"
    return f"{said}; nothing else is queued: the crawl ends" if ends else said


def unblock_effect(action: Unblock) -> str:
    return f"{', '.join(action.what[:5])} may be visited again"
