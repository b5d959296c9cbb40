"""Which options and settings may change while a crawl runs, and how they do.

A change is checked as a whole, taken over by the job, and written into the job file. Whether a part takes a setting
over where it is, or has to be replaced for it, is the framework's to know (`flow/difference.py`).
"""

import asyncio
from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec

from whimbrel.control.api import ControlError, Refused
from whimbrel.control.changed_value import change_in_words, refuse_reached, values_of
from whimbrel.control.configuration import effective
from whimbrel.control.rewire import OWN_WIRING
from whimbrel.flow import ChangeFailed, FlowError, check
from whimbrel.flow.toml import wiring_text
from whimbrel.flow.wiring import Wiring
from whimbrel.job.crawl_wiring import configured
from whimbrel.job.file_limit import allow_files
from whimbrel.job.live_crawl import LiveCrawl
from whimbrel.job.options import CrawlOptions, OptionError, ResolvedOptions, combined
from whimbrel.job.stored import keep_job, write_whole

_ADVICE: Final = "; stop the crawl, then `whimbrel resume DIR --set PART.KEY=VALUE`"
_ANOTHER_WAY: Final = {"seeds": "seed", "block": "block", "wiring": "add"}
_BETWEEN_RUNS: Final = {
    "mode": "hosts are grouped by it",
    "with_files": "your files are loaded when the crawl begins; stop it, then `whimbrel resume DIR --with FILE.py`",
    "handlers": "they belong to the program that began the crawl",
    "control": "who is to be reached there would be cut off; stop it, then `whimbrel resume`",
    "set": "name settings as PART.KEY",
}


class LiveConfiguration:
    """What a crawl runs by now, to be changed."""

    def __init__(self, running: LiveCrawl) -> None:
        self._running = running

    async def set(self, named: Mapping[str, Any]) -> str:
        """Options by their names, and settings of parts as PART.KEY; Refused for those that stay."""
        options: dict[str, Any] = {}
        settings: dict[str, dict[str, Any]] = {}
        for name, value in named.items():
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
        refuse_reached(self._running, {**named, **{name: getattr(asked, name) for name in options}})
        return await self.change_told(options, settings)

    async def replace(self, provider: str, settings: Mapping[str, Any]) -> str:
        """Another provider in the place of one, with settings of its own."""
        return await self._take_over(lambda given: _changed(_without(given, provider), {}, {provider: settings}))

    async def change(self, options: Mapping[str, Any], settings: Mapping[str, Mapping[str, Any]]) -> str:
        """Other options and settings: checked as a whole, taken over by the job, and written into the job file."""
        return await self._take_over(lambda given: _changed(given, options, settings))

    async def change_told(self, options: Mapping[str, Any], settings: Mapping[str, Mapping[str, Any]]) -> str:
        """The same, with the values before and after."""
        running = self._running
        names = [*options, *(f"{part}.{key}" for part, keys in settings.items() for key in keys)]
        before = values_of(running, effective(running), names)
        said = await self.change(options, settings)
        return f"{change_in_words(before, values_of(running, effective(running), names))}; {said}"

    async def rewire(self, wiring: Wiring) -> str:
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


def _without(given: ResolvedOptions, part: str) -> ResolvedOptions:
    """Without the settings of a part: they were for the one that goes."""
    rest = {name: values for name, values in given.options.set.items() if name != part}
    return ResolvedOptions(msgspec.structs.replace(given.options, set=rest), given.origins)
