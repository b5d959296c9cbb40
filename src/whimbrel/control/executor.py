"""Carries out actions on a running crawl, one after the other."""

import asyncio
from collections.abc import Callable, Mapping
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
    ControlError,
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
from whimbrel.control.changed_value import change_in_words, refuse_reached, values_of
from whimbrel.control.configuration import effective
from whimbrel.control.requeue import Failed, failures
from whimbrel.control.rewire import OWN_WIRING, added, removed, wiring_of
from whimbrel.fetch.credential import redacted_setting
from whimbrel.flow import ChangeFailed, FlowError, check
from whimbrel.flow.toml import wiring_text
from whimbrel.flow.wiring import Wiring
from whimbrel.frontier.api import OPERATOR
from whimbrel.job.crawl_wiring import configured
from whimbrel.job.file_limit import allow_files
from whimbrel.job.live_crawl import LiveCrawl
from whimbrel.job.login import authorizations, credential_origins
from whimbrel.job.options import CrawlOptions, OptionError, ResolvedOptions, combined
from whimbrel.job.seed import seed_url
from whimbrel.job.stored import keep_job, write_whole
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
        return await self._change_told(changes, {}), action.of, 0

    @_do.register
    async def _block(self, action: Block) -> tuple[str, str, int]:
        running = self._running
        known = running.given.options.block
        after = more_blocked(known, action)
        new = after[len(known) :]
        await self._change({"block": after}, {})
        hosts = ((summary.name, summary.queued) for summary in running.frontier.loaded())
        waiting, ends = what_waits(new, known, hosts, running.frontier.queued)
        return block_effect(new, waiting, ends=ends), " ".join(new), len(new)

    @_do.register
    async def _unblock(self, action: Unblock) -> tuple[str, str, int]:
        await self._change({"block": less_blocked(self._running.given.options.block, action)}, {})
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
            await self._change({"seeds": seeds}, _bound(options))
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
        options: dict[str, Any] = {}
        settings: dict[str, dict[str, Any]] = {}
        for name, value in action.settings.items():
            part, dot, key = name.partition(".")
            if dot:
                settings.setdefault(part, {})[key] = value
            elif name in _ANOTHER_WAY:
                raise Refused(f"{name}: use the action {_ANOTHER_WAY[name]!r}")
            elif name in _BETWEEN_RUNS:
                raise Refused(f"{name} stays as it is while the crawl runs: {_BETWEEN_RUNS[name]}")
            else:
                options[name] = value
        asked = _changed(self._running.given, options, settings).options
        refuse_reached(self._running, {**action.settings, **{name: getattr(asked, name) for name in options}})
        said = await self._change_told(options, settings)
        return said, " ".join(_shown(name, value) for name, value in action.settings.items()), 0

    @_do.register
    async def _bind(self, action: Bind) -> tuple[str, str, int]:
        if action.provider not in self._running.job.graph.providers:
            raise Refused(f"the wiring has no provider {action.provider!r}")
        change = {action.provider: {**action.config, "use": action.use}}
        said = await self._take_over(lambda given: _changed(_without(given, action.provider), {}, change))
        return said, f"{action.provider} {action.use}", 0

    @_do.register
    async def _add(self, action: Add) -> tuple[str, str, int]:
        said = await self._rewire(added(wiring_of(self._running), action))
        return said, f"{action.name} {action.use}", 0

    @_do.register
    async def _remove(self, action: Remove) -> tuple[str, str, int]:
        said = await self._rewire(removed(wiring_of(self._running), action))
        return said, action.name, 0

    async def _change(self, options: Mapping[str, Any], settings: Mapping[str, Mapping[str, Any]]) -> str:
        """Other options and settings: checked as a whole, taken over by the job, and written into the job file."""
        return await self._take_over(lambda given: _changed(given, options, settings))

    async def _change_told(self, options: Mapping[str, Any], settings: Mapping[str, Mapping[str, Any]]) -> str:
        """The same, with the values before and after."""
        running = self._running
        names = [*options, *(f"{part}.{key}" for part, keys in settings.items() for key in keys)]
        before = values_of(running, effective(running), names)
        said = await self._change(options, settings)
        return f"{change_in_words(before, values_of(running, effective(running), names))}; {said}"

    async def _rewire(self, wiring: Wiring) -> str:
        """Another wiring: kept beside the job, which names it."""
        path = self._running.directory / OWN_WIRING
        before = path.read_bytes() if path.exists() else None
        await asyncio.to_thread(write_whole, path, wiring_text(wiring).encode())
        try:
            return await self._take_over(lambda given: _changed(given, {"wiring": OWN_WIRING}, {}))
        except ControlError:
            if before is None:
                path.unlink()
            else:
                await asyncio.to_thread(write_whole, path, before)
            raise

    async def _take_over(self, change: Callable[[ResolvedOptions], ResolvedOptions]) -> str:
        """Change what the crawl runs by, and what its job file says: the two differ by what holds for this run only."""
        running = self._running
        given, kept = change(running.given), change(running.kept)
        said = len(running.job.report().changes)
        try:
            wiring = configured(given.options, running.directory, running.registry, running.rules)
            allow_files(check(wiring, running.registry))
            await running.job.apply(wiring)
        except (OptionError, FlowError, ValueError) as error:
            kind = Refused if running.job.state == "running" else ControlError
            advice = _ADVICE if isinstance(error, ChangeFailed) and kind is Refused else ""
            raise kind(f"{error}{advice}") from error
        running.given, running.kept = given, kept
        await asyncio.to_thread(keep_job, running.directory, kept)
        return ", ".join(running.job.report().changes[said:]) or "nothing had to change"


_ADVICE = "; stop the crawl, then `whimbrel resume DIR --set PART.KEY=VALUE`"
_ANOTHER_WAY = {"seeds": "seed", "block": "block", "wiring": "add"}
_BETWEEN_RUNS = {
    "mode": "hosts are grouped by it",
    "with_files": "your files are loaded when the crawl begins; stop it, then `whimbrel resume DIR --with FILE.py`",
    "handlers": "they belong to the program that began the crawl",
    "control": "who is to be reached there would be cut off; stop it, then `whimbrel resume`",
    "set": "name settings as PART.KEY",
}


def _changed(
    given: ResolvedOptions, options: Mapping[str, Any], settings: Mapping[str, Mapping[str, Any]]
) -> ResolvedOptions:
    """What was given before, and what is changed by hand; Refused where that cannot be."""
    before = msgspec.to_builtins(given.options)
    kept = {name: value for name, value in before.items() if name in given.origins or name == "set"}
    layer: dict[str, Any] = {**msgspec.to_builtins(dict(options))}
    if settings:
        layer["set"] = {part: dict(values) for part, values in settings.items()}
    try:
        found = combined([("job.toml", kept), ("control", layer)])
    except OptionError as error:
        raise Refused(str(error)) from error
    origins = {
        name: given.origins.get(name, origin) if origin == "job.toml" else origin
        for name, origin in found.origins.items()
    }
    plain = {name for name in options if getattr(found.options, name) == getattr(CrawlOptions(), name)}
    return ResolvedOptions(found.options, {name: origin for name, origin in origins.items() if name not in plain})


def _bound(options: CrawlOptions) -> dict[str, dict[str, Any]]:
    """The setting by which credentials stay with the seeds that they were given for when there are more seeds."""
    origins = credential_origins(options)
    is_bound = not origins or "credential_origins" in options.set.get("transport", {})
    return {} if is_bound else {"transport": {"credential_origins": list(origins)}}


def _shown(name: str, value: Any) -> str:
    return f"{name}={redacted_setting(name.rpartition('.')[2], value)}"


def _without(given: ResolvedOptions, part: str) -> ResolvedOptions:
    """Without the settings of a part: they were for the one that goes."""
    rest = {name: values for name, values in given.options.set.items() if name != part}
    return ResolvedOptions(msgspec.structs.replace(given.options, set=rest), given.origins)


def _sites(host: str) -> list[Url]:
    """The sites that a host's name may mean: with a scheme the one, else both."""
    texts = (host,) if "://" in host else (f"https://{host}", f"http://{host}")
    return [url for url in map(parse, texts) if url is not None]
