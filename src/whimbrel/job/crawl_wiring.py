"""From options to a configured wiring: which option goes to which part."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from whimbrel.commit.journal import JournalConfig
from whimbrel.flow import ComponentSpec, ProviderSpec, Registry
from whimbrel.flow.component import Part
from whimbrel.flow.wiring import Wiring
from whimbrel.handle.rule import HandlerRules
from whimbrel.job import login
from whimbrel.job.handling import rules_of, with_handlers
from whimbrel.job.legacy import current_wiring
from whimbrel.job.options import CrawlOptions, OptionError
from whimbrel.job.part_name import VISITS
from whimbrel.job.parts import wiring
from whimbrel.job.seed import seeds
from whimbrel.job.user_agent import product_token, user_agent
from whimbrel.url.block_list import is_pattern
from whimbrel.version import __version__

MOST_HOPS = 20
_FEWEST_NEW = 16
_QUALIFYING = 512
"""What the qualifier may have under way besides visits."""
_FEWEST_KEPT = 200


def configured(options: CrawlOptions, directory: Path, known: Registry, rules: HandlerRules | None = None) -> Wiring:
    """The wiring of a crawl into a directory, with every option in its place and `set` applied last.

    A part that took another's place gets those of its settings that it has too. `rules` are the handlers of a program;
    those of the user's files are found here.
    """
    rules = rules_of(known, rules)
    base = with_handlers(base_wiring(options, directory), rules)
    for connector in base.connectors:
        if connector.target == VISITS:
            # A visit counts until it is done: this is what bounds the visits under way.
            base = base.adding(replace(connector, capacity=options.connections))
    specs: list[ComponentSpec | ProviderSpec] = [*base.components, *base.providers]
    uses = {spec.name: spec.use for spec in specs}
    for part, settings in settings_of(options, directory).items():
        kind = known.component(uses.get(part, "")) or known.provider(uses.get(part, ""))
        taken = settings if kind is None else {key: settings[key] for key in settings if _has(kind, key)}
        base = base.configuring(part, **taken)
    if rules:
        base = base.configuring("journal", tables=rules.tables())
    for part, settings in options.set.items():
        base = _made_otherwise(base, part, settings)
        base = base.configuring(part, **{key: value for key, value in settings.items() if key not in _OF_THE_SPEC})
    return _parted(base)


_OF_THE_SPEC = ("use", "instances", "place")
"""Settings that a part does not have itself: what it is, how often, and where it runs."""


def _made_otherwise(base: Wiring, part: str, settings: Mapping[str, Any]) -> Wiring:
    """`use` puts another component or provider in a part's place; those settings that it does not know are left out
    (`configured` has asked for that). Components have `instances` and a `place`, too."""
    changes = {key: settings[key] for key in _OF_THE_SPEC if key in settings}
    if not changes:
        return base
    specs: list[ComponentSpec | ProviderSpec] = [*base.components, *base.providers]
    spec = next((one for one in specs if one.name == part), None)
    if spec is None:
        return base.configuring(part)  # It says that there is no such part.
    if isinstance(spec, ProviderSpec) and changes.keys() != {"use"}:
        raise OptionError(f"set.{part}: a provider is there once; only `use` can be set")
    if not isinstance(changes.get("use", ""), str | type):
        raise OptionError(f"set.{part}.use: {changes['use']!r} is not the name of a component or provider")
    if not isinstance(changes.get("instances", 1), int):
        raise OptionError(f"set.{part}.instances: {changes['instances']!r} is not a whole number")
    return base.adding(replace(spec, **changes))


def _parted(base: Wiring) -> Wiring:
    """Parts that call each other directly have equally many instances; where they do not, a queue joins them."""
    count = {spec.name: spec.instances for spec in base.components}
    thread = {spec.name for spec in base.components if spec.place == "thread"}
    for one in base.connectors:
        source, target = one.source.partition(".")[0], one.target.partition(".")[0]
        if one.kind == "direct" and (count.get(source) != count.get(target) or target in thread):
            base = base.adding(replace(one, kind="queue", capacity=64, batch=16))
    return base


def base_wiring(options: CrawlOptions, directory: Path) -> Wiring:
    """The wiring that the options name; one that lies in the crawl's directory goes where it goes."""
    own = directory / options.wiring
    found = wiring(str(own) if "/" not in options.wiring and own.is_file() else options.wiring)
    return current_wiring(found, wiring("standalone"))


def _has(kind: type[Part], key: str) -> bool:
    return key in kind.Config.__struct_fields__


def settings_of(options: CrawlOptions, directory: Path) -> dict[str, dict[str, Any]]:
    """For each part the settings that the options decide."""
    agent = user_agent(options)
    token = product_token(agent)
    broad = options.mode == "broad"
    block = tuple(name for name in options.block if not is_pattern(name))
    refuse = tuple(name for name in options.block if is_pattern(name))
    per_host = options.max_pages_per_host
    return {
        "state": {"directory": str(directory)},
        "journal": {"directory": str(directory), "info": tuple(_warcinfo(options, agent).items())},
        "gate": {"mode": options.mode, "delay_s": options.delay, "delays": options.delays, "block": block},
        "frontier": {
            "mode": options.mode,
            "order": options.order,
            "max_pages": options.max_pages,
            "max_pages_per_host": 1_000 if per_host is None and broad else per_host,
            "max_bytes_per_s": options.max_rate,
            "max_pages_per_s": options.max_pages_per_s,
            "refuse": refuse,
            "agent": token,
            "new_hosts": max(_FEWEST_NEW, 2 * options.connections),
        },
        "router": {
            "seeds": tuple(url.text for url in seeds(options)),
            "scope": options.scope or ("any" if broad else "host"),
            "include": options.include,
            "exclude": options.exclude,
            "block": block,
            "refuse": refuse,
            "requisites": options.requisites,
            "sitemaps": options.sitemap,
            "ascend": options.order == "ascend",
            "max_depth": (_hops(options) if options.max_depth is None else options.max_depth) or None,
            "follow": options.follow,
        },
        "qualifier": {"agent": token, "robots": options.robots},
        "parser": {"agent": token, "requisites": options.requisites, "directory": str(directory)},
        "effects": {"mime": options.mime},
        "downloader": {"connections": options.connections},
        "resolver": {"server": options.resolver},
        "transport": {
            "user_agent": agent,
            "headers": login.headers(options),
            "credential_origins": login.credential_origins(options),
            "authorizations": login.authorizations(options),
            "cookies": options.cookies,
            "proxy": options.proxy,
            "allow_networks": options.allow_network,
            "allow_hosts": options.allow_host,
            "ca": options.ca,
            "max_bytes": options.max_file_size,
            "connections": options.connections + _QUALIFYING,
            "kept": max(_FEWEST_KEPT, options.connections * 5 // 4),  # Some for hosts between two visits.
            "spill_directory": str(directory),
            "spill_reserve_bytes": options.set.get("journal", {}).get("reserve_bytes", JournalConfig().reserve_bytes),
        },
    }


def _hops(options: CrawlOptions) -> int:
    return MOST_HOPS if options.follow == "links" else 0


def _warcinfo(options: CrawlOptions, agent: str) -> dict[str, str]:
    found = {
        "software": f"whimbrel/{__version__}",
        "format": "WARC File Format 1.1",
        "http-header-user-agent": agent,
        "robots": "obey" if options.robots == "seed" else "rfc9309",
        "operator": options.contact,
    }
    return {name: value for name, value in found.items() if value}
