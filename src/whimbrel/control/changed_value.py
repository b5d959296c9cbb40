"""What a change of options and settings comes to: the values before and after, and limits that would end the crawl."""

import json
from collections.abc import Mapping
from typing import Any

from whimbrel.control.api import Refused
from whimbrel.control.configuration import Configuration
from whimbrel.flow.wiring import used_name
from whimbrel.job.live_crawl import LiveCrawl
from whimbrel.job.part_name import FRONTIER

Values = dict[str, Any]
"""By the names that `set` takes: `max_depth`, `router.max_depth`."""


def values_of(running: LiveCrawl, effective: Configuration, names: list[str]) -> Values:
    """What options and settings are now."""
    specs = {spec.name: spec for spec in running.job.graph.wiring.components}
    found: Values = {}
    for name in names:
        part, dot, key = name.partition(".")
        if not dot:
            found[name] = effective.options.get(name)
        elif key in ("use", "instances", "place") and part in specs:
            value = getattr(specs[part], key)
            found[name] = used_name(value) if key == "use" else value
        else:
            found[name] = effective.parts.get(part, {}).get(key)
    return found


def change_in_words(before: Values, after: Values) -> str:
    return ", ".join(f"{name}: {_text(before[name])} -> {_text(after[name])}" for name in before)


def _text(value: Any) -> str:
    return "none" if value is None else json.dumps(value, ensure_ascii=False, default=str)


def refuse_reached(running: LiveCrawl, changes: Mapping[str, Any]) -> None:
    """Refused for a limit that the crawl is beyond already: it would end at once, which `stop` is for."""
    progress = running.progress()
    if progress is None:
        return
    begun = running.frontier.pages_begun
    reached = {
        "max_pages": (begun, f"{begun:,} requests for pages were begun already"),
        f"{FRONTIER}.max_pages": (begun, f"{begun:,} requests for pages were begun already"),
        "max_bytes": (progress.bytes, f"{progress.bytes:,} bytes were received already"),
        "max_time": (progress.elapsed_s, f"{progress.elapsed_s:.0f} s have passed already"),
    }
    for name in changes.keys() & reached.keys():
        limit, (now, said) = changes[name], reached[name]
        if isinstance(limit, int | float) and 0 < limit <= now:
            raise Refused(
                f"{name}={limit:g}: {said}, so the crawl would end at once; set a higher limit, or "
                "`whimbrel control DIR stop` ends it"
            )
