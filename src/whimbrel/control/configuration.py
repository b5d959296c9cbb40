"""The configuration that a crawl runs by, with where each value came from."""

from typing import Any

import msgspec

from whimbrel.fetch.credential import redacted_setting
from whimbrel.job.live_crawl import LiveCrawl


class Configuration(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that a crawl runs by. In place of secrets it says `redacted`."""

    options: dict[str, Any]
    """All of them, as a job file names them."""
    origins: dict[str, str]
    """Where those came from that are not at their defaults."""
    parts: dict[str, dict[str, Any]]
    """For each part what it is, and all its settings."""
    live: dict[str, list[str]]
    """Settings of each part that it takes over where it is; for others it is replaced, if it can be."""
    fixed: dict[str, str]
    """Parts that cannot be replaced while the crawl runs, and why."""


def effective(running: LiveCrawl) -> Configuration:
    plan = running.job.graph.plan
    made = {**plan.components, **plan.providers}
    return Configuration(
        options=redacted_setting("options", msgspec.to_builtins(running.given.options)),
        origins=running.given.origins,
        parts={name: _plain(config) for name, (_, config) in made.items()},
        live={name: sorted(kind.live) for name, (kind, _) in made.items() if kind.live},
        fixed={name: kind.fixed for name, (kind, _) in made.items() if kind.fixed},
    )


def _plain(config: Any) -> dict[str, Any]:
    """As JSON can say it; a setting that only Python knows is named by its text."""
    found: dict[str, Any] = redacted_setting("config", msgspec.to_builtins(config, enc_hook=str))
    return found
