"""Carries out actions on a running crawl, one after the other."""

import asyncio
from functools import singledispatchmethod
from typing import Any

import msgspec

from whimbrel.control.api import (
    Abort,
    Action,
    Add,
    Allow,
    Bind,
    Block,
    Checkpoint,
    Done,
    Pause,
    Refused,
    Remove,
    Requeue,
    Seed,
    Set,
    Speed,
    Stop,
    Unblock,
    Unpause,
    name_of,
)
from whimbrel.control.block import block_effect, less_blocked, more_blocked, unblock_effect, what_waits
from whimbrel.control.reconfigure import LiveConfiguration
from whimbrel.control.requeue import Failed, failures
from whimbrel.control.rewire import added, removed, wiring_of
from whimbrel.fetch.credential import redacted_setting
from whimbrel.frontier.api import OPERATOR
from whimbrel.job.live_crawl import LiveCrawl
from whimbrel.job.login import authorizations, credential_origins
from whimbrel.job.options import CrawlOptions, OptionError
from whimbrel.job.seed import seed_url
from whimbrel.terminal import counted
from whimbrel.url import Url, parse
from whimbrel.visit import Discovered

_AT_ONCE = 1_000
"""URLs that are queued again before others get a turn."""
_SEEDING = "seeds"
"""Why no request begins for a moment."""


class ActionExecutor:
    """Belongs to the crawl's loop."""

    def __init__(self, running: LiveCrawl) -> None:
        self._running = running
        self._configuration = LiveConfiguration(running)
        self._turn = asyncio.Lock()

    async def carry_out(self, action: Action, caller: str) -> Done:
        """Refused when nothing was changed, ControlError when it went wrong on the way."""
        async with self._turn:
            if not self._running.up:
                raise Refused(f"the crawl is {self._running.job.state}; try again when it runs")
            journal, name = self._running.journal, name_of(action)
            effect, subject, count = await self._do(action)
            journal.add_event(caller, name, subject, effect)
            if isinstance(action, Checkpoint):  # Last, so that its own event is durable, too.
                effect = f"commit {(await journal.checkpoint()).number:,} is durable"
            self._running.say(f"{caller}: {name}{' ' if subject else ''}{subject[:200]}: {effect}")
            return Done(action=name, effect=effect, commit=journal.last.number, count=count)

    @singledispatchmethod
    async def _do(self, action: Any) -> tuple[str, str, int]:
        """The effect in words, what it was about, and how many."""
        raise AssertionError(f"nobody carries out {type(action).__name__}")

    @_do.register
    async def _pause(self, _: Pause) -> tuple[str, str, int]:
        if self._running.gate.paused:
            raise Refused("the crawl is paused already")
        self._running.gate.close_for(OPERATOR)
        return f"paused{self._under_way('ends', 'end')}{self._still_closed()}", "", 0

    @_do.register
    async def _unpause(self, _: Unpause) -> tuple[str, str, int]:
        if not self._running.gate.paused:
            raise Refused("the crawl is not paused")
        self._running.gate.reopen_for(OPERATOR)
        return f"goes on{self._still_closed()}", "", 0

    def _under_way(self, one: str, several: str) -> str:
        """What becomes of the visits under way, where there are any."""
        count = self._running.frontier.visiting
        return f"; {counted(count, 'visit')} under way {one if count == 1 else several}" if count else ""

    def _still_closed(self) -> str:
        """For which other reasons no request begins."""
        others = sorted(self._running.gate.closed_for - {OPERATOR})
        return f"; no request begins, also because of the {' and the '.join(others)}" if others else ""

    @_do.register
    async def _stop(self, _: Stop) -> tuple[str, str, int]:
        self._running.job.stop()
        return f"stopping{self._under_way('ends', 'end')}", "", 0

    @_do.register
    async def _abort(self, _: Abort) -> tuple[str, str, int]:
        # After the answer: who asked should hear of it.
        asyncio.get_running_loop().call_later(0.1, self._running.job.abort, "aborted by the control interface")
        return f"ending now{self._under_way('is cut', 'are cut')}", "", 0

    @_do.register
    async def _checkpoint(self, _: Checkpoint) -> tuple[str, str, int]:
        trouble = self._running.journal.trouble
        if trouble:
            raise Refused(f"the disk takes no data: {trouble}")
        return "asked for a commit", "", 0

    @_do.register
    async def _speed(self, action: Speed) -> tuple[str, str, int]:
        options = self._running.given.options
        changes: dict[str, Any] = {}
        if action.pages_per_s is not None:
            changes["max_pages_per_s"] = action.pages_per_s or None
        if action.bytes_per_s is not None:
            changes["max_rate"] = action.bytes_per_s or None
        if action.connections is not None:
            changes["connections"] = action.connections
        if action.delay_s is not None:
            delay = None if action.delay_s == "default" else action.delay_s
            if action.of:
                kept = {host: old for host, old in options.delays.items() if host != action.of}
                changes["delays"] = kept if delay is None else {**kept, action.of: delay}
            else:
                changes["delay"] = delay
        if not changes:
            raise Refused("say what is to change: pages_per_s, bytes_per_s, connections or delay_s")
        return await self._configuration.change_told(changes, {}), action.of, 0

    @_do.register
    async def _block(self, action: Block) -> tuple[str, str, int]:
        running = self._running
        known = running.given.options.block
        after = more_blocked(known, action)
        new = after[len(known) :]
        await self._configuration.change({"block": after}, {})
        hosts = ((summary.name, summary.queued) for summary in running.frontier.loaded())
        waiting, ends = what_waits(new, known, hosts, running.frontier.queued)
        return block_effect(new, waiting, ends=ends), " ".join(new), len(new)

    @_do.register
    async def _unblock(self, action: Unblock) -> tuple[str, str, int]:
        await self._configuration.change({"block": less_blocked(self._running.given.options.block, action)}, {})
        return unblock_effect(action), " ".join(action.what), len(action.what)

    @_do.register
    async def _allow(self, action: Allow) -> tuple[str, str, int]:
        frontier = self._running.frontier
        count = 0
        for url in _sites(action.host):
            count += frontier.allow(url.site, url.host, without_robots=action.without_robots)
        if not count:
            raise Refused(f"the crawl knows no host {action.host!r}")
        return "asked again at once" + (", robots.txt or not" if action.without_robots else ""), action.host, count

    @_do.register
    async def _seed(self, action: Seed) -> tuple[str, str, int]:
        options = self._running.given.options
        seeds = tuple(dict.fromkeys((*options.seeds, *action.urls)))
        try:
            urls = tuple(seed_url(text) for text in action.urls)
            authorizations(msgspec.structs.replace(options, seeds=seeds))
        except OptionError as error:
            raise Refused(str(error)) from error
        if self._running.job.state != "running":
            raise Refused("the crawl is being stopped")
        # Before the scope is wider: a link could bring one of them while the job is written. Nothing is asked for until
        # its password is known.
        self._running.gate.close_for(_SEEDING)
        try:
            queued = self._running.seeding.seed(urls)
            await self._configuration.change({"seeds": seeds}, _bound(options))
        finally:
            self._running.gate.reopen_for(_SEEDING)
        # Where parents are proposed, too, they are in scope only now.
        queued += self._running.seeding.seed(urls)
        new = {url.text for url in urls} & {url.text for url in queued}
        parents = f"; {len(queued) - len(new):,} of their parents" if len(queued) > len(new) else ""
        said = f"{len(new):,} new, {len(urls) - len(new):,} known already{parents}"
        return said, " ".join(url.text for url in urls), len(queued)

    @_do.register
    async def _requeue(self, action: Requeue) -> tuple[str, str, int]:
        running = self._running
        if running.journal.trouble:
            raise Refused(f"the disk takes no data: {running.journal.trouble}")
        # What is queued is what was committed: nobody can have been queued twice.
        await running.journal.checkpoint()
        found = await asyncio.to_thread(failures, running.directory, action)
        for number, failed in enumerate(found, 1):
            self._requeue_one(failed, action.outcome)
            if number % _AT_ONCE == 0:
                await asyncio.sleep(0)
        await running.journal.checkpoint()
        what = " ".join(word for word in (action.outcome, action.reason, action.host) if word)
        return f"{counted(len(found), 'URL')} {'is' if len(found) == 1 else 'are'} visited once more", what, len(found)

    def _requeue_one(self, failed: Failed, outcome: str) -> None:
        url = parse(failed.url)
        if url is not None:
            found = Discovered(url, failed.depth, failed.source)
            self._running.effects.requeue(found, outcome, failed.reason)

    @_do.register
    async def _set(self, action: Set) -> tuple[str, str, int]:
        said = await self._configuration.set(action.settings)
        return said, " ".join(_shown(name, value) for name, value in action.settings.items()), 0

    @_do.register
    async def _bind(self, action: Bind) -> tuple[str, str, int]:
        if action.provider not in self._running.job.graph.providers:
            raise Refused(f"the wiring has no provider {action.provider!r}")
        said = await self._configuration.replace(action.provider, {**action.config, "use": action.use})
        return said, f"{action.provider} {action.use}", 0

    @_do.register
    async def _add(self, action: Add) -> tuple[str, str, int]:
        said = await self._configuration.rewire(added(wiring_of(self._running), action))
        return said, f"{action.name} {action.use}", 0

    @_do.register
    async def _remove(self, action: Remove) -> tuple[str, str, int]:
        said = await self._configuration.rewire(removed(wiring_of(self._running), action))
        return said, action.name, 0


def _bound(options: CrawlOptions) -> dict[str, dict[str, Any]]:
    """The setting by which credentials stay with the seeds that they were given for when there are more seeds."""
    origins = credential_origins(options)
    is_bound = not origins or "credential_origins" in options.set.get("transport", {})
    return {} if is_bound else {"transport": {"credential_origins": list(origins)}}


def _shown(name: str, value: Any) -> str:
    return f"{name}={redacted_setting(name.rpartition('.')[2], value)}"


def _sites(host: str) -> list[Url]:
    """The sites that a host's name may mean: with a scheme the one, else both."""
    texts = (host,) if "://" in host else (f"https://{host}", f"http://{host}")
    return [url for url in map(parse, texts) if url is not None]
