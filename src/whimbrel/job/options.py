"""A crawl's options, and where each value came from.

Defaults, the job file, the environment and the command line, in that order; the later wins. A crawl directory keeps
what was given (job.toml), so that `resume` needs no options.
"""

import difflib
import json
import math
import os
import re
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Literal, get_args, get_type_hints

import msgspec

from whimbrel.error import UsageError
from whimbrel.job.legacy import current_settings
from whimbrel.job.option_check import trouble
from whimbrel.job.unit import UnitError, duration_s, size_bytes

ENVIRONMENT: Final = "WHIMBREL_"
JOB_FILE: Final = "job.toml"
_LARGEST: Final = 2**63 - 1


class OptionError(UsageError):
    """An option that cannot be used; the message says which, where it was given, and what to write instead."""


class CrawlOptions(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The names are those of the command line and of job files."""

    seeds: tuple[str, ...] = ()
    """URLs to begin with; without a scheme, https. `https://user:password@host/` logs in there, and nowhere else."""
    mode: Literal["site", "broad"] = "site"
    """`site` downloads whole sites, `broad` crawls the web: 30 s per host, at most 1,000 pages of each, contact
    needed."""
    scope: Literal["page", "prefix", "host", "domain", "any"] | None = None
    """How far from the seeds; `host` in site mode, `any` in broad mode unless given."""
    order: Literal["breadth", "depth", "ascend"] = "breadth"
    """Of the URLs within a host."""
    sitemap: bool = False
    """Look for /sitemap.xml on every host; those that robots.txt names are always read."""
    follow: Literal["links", "handlers"] = "links"
    """What is followed: links of pages and of handlers, or only those that handlers make."""
    requisites: bool = False
    """Also fetch images, styles and scripts of pages, one hop out of scope."""
    max_pages: int | None = None
    """Requests for pages in all."""
    max_pages_per_host: int | None = None
    """1,000 in broad mode unless given."""
    max_depth: int | None = None
    """Hops from a seed; 0 is no limit. 20 unless given, and no limit where only links of handlers are followed, which
    know where they lead."""
    max_time: float | None = None
    """Seconds, or with a unit: `10m`."""
    max_bytes: int | None = None
    """Bytes fetched in all."""
    max_file_size: int = 20_000_000
    """Bytes of one body; the rest is cut."""
    max_rate: int | None = None
    """Bytes per second in all: `5MB/s`."""
    max_pages_per_s: float | None = None
    """Requests for pages per second in all."""
    delay: float | None = None
    """Seconds between two requests to a host, its domain and its address; 0 is for one's own servers only."""
    delays: dict[str, float] = {}
    """Seconds between two requests to single hosts and domains: `[delays]` with `"example.org" = 10`."""
    connections: int = 64
    """Requests under way at once."""
    robots: Literal["seed", "rfc9309"] = "seed"
    """How to read a robots.txt that answers 401, 403 and the like: as no, or as no rules."""
    user_agent: str = ""
    """How the crawler names itself; its first word is what robots.txt rules are looked up for."""
    contact: str = ""
    """A URL or a mail address for the people whose sites are crawled."""
    include: tuple[str, ...] = ()
    """Patterns with `*`; when there are any, a URL must match one."""
    exclude: tuple[str, ...] = ()
    """Patterns with `*`; a URL that matches one is not visited."""
    mime: tuple[str, ...] = ()
    """Types whose bodies are kept, like `text/html` or `image/*`; all when empty."""
    block: tuple[str, ...] = ()
    """What is never visited: hosts and domains on all their ports, a host at one port (`a.test:8080`), sites
    (`http://a.test`), and patterns with `*` of URLs."""
    header: tuple[str, ...] = ()
    """Further request headers, `Name: value`. Those that are named like secrets (Authorization, Cookie, X-Api-Key …) go
    to the origins of the seeds only."""
    cookies: str = ""
    """A cookie file to send cookies from."""
    proxy: str = ""
    """The URL of a proxy for all requests; the environment's is not used."""
    allow_network: tuple[str, ...] = ()
    """Private networks that may be crawled."""
    allow_host: tuple[str, ...] = ()
    """HOST:PORT of private servers that may be crawled, and no other there: `localhost:8000`, `10.0.0.7:80`. Seeds that
    are typed on the command line are added by themselves; seeds from anywhere else are not."""
    resolver: str = ""
    """ADDRESS:PORT of a name server, which then has the only word. When empty, names are found as on the rest of the
    system: in its hosts file, then by its name servers."""
    ca: str = ""
    """A file of trusted certificates instead of the system's."""
    control: str = "127.0.0.1:0"
    """ADDRESS:PORT at which the running crawl listens for `whimbrel control`, with a token; port 0 is any that is free.
    `off` for none."""
    wiring: str = "standalone"
    """A wiring that Whimbrel ships, or a TOML file with the parts of `standalone` under the same names."""
    with_files: tuple[str, ...] = ()
    """Python files with components and providers of your own."""
    handlers: tuple[str, ...] = ()
    """Names of a program's own handlers, filled in by it: without them the crawl is not to be resumed."""
    set: dict[str, dict[str, Any]] = {}
    """Configuration of single parts: `[set.effects]` with `retry_s = 5`."""


_TABLES: Final = ("set", "delays")
"""They stand after all others in a job file, or the others would be part of them."""
_DURATIONS: Final = ("max_time", "delay")
_SIZES: Final = ("max_bytes", "max_file_size", "max_rate")
_WORDS: Final = {**dict.fromkeys(("1", "true", "yes", "on"), True), **dict.fromkeys(("0", "false", "no", "off"), False)}


class ResolvedOptions(msgspec.Struct, frozen=True):
    """Options together with the origin of each that was not left at its default; `set.PART.KEY` for settings."""

    options: CrawlOptions
    origins: dict[str, str]


def combined(layers: Sequence[tuple[str, Mapping[str, Any]]]) -> ResolvedOptions:
    """Layers of values by origin, the weakest first."""
    values: dict[str, Any] = {}
    origins: dict[str, str] = {}
    for origin, layer in layers:
        for key, value in layer.items():
            _check_key(key, origin)
            _check_numbers(key, value, origin)
            if key == "set":
                values["set"] = {**values.get("set", {})}
                for part, settings in current_settings(_tables(value, origin)).items():
                    values["set"][part] = {**values["set"].get(part, {}), **settings}
                    origins |= {f"set.{part}.{name}": origin for name in settings}
            else:
                values[key] = _plain(key, value, origin)
                origins[key] = origin
    return ResolvedOptions(_converted(values, origins), origins)


def _check_numbers(key: str, value: Any, origin: str) -> None:
    """Whole numbers have 64 bits: no larger one could be written into a status or a table."""
    if isinstance(value, Mapping):
        for name, one in value.items():
            _check_numbers(f"{key}.{name}", one, origin)
    elif isinstance(value, list | tuple):
        for one in value:
            _check_numbers(key, one, origin)
    elif isinstance(value, int) and abs(value) > _LARGEST:
        raise OptionError(f"{origin}: {key}: a number beyond {_LARGEST:,}; write a smaller one")


def _tables(value: Any, origin: str) -> dict[str, dict[str, Any]]:
    if not isinstance(value, dict) or not all(isinstance(settings, dict) for settings in value.values()):
        raise OptionError(f"{origin}: set: write a table for each part: [set.effects] with retry_s = 5")
    return value


def _converted(values: dict[str, Any], origins: Mapping[str, str]) -> CrawlOptions:
    try:
        options = msgspec.convert(values, CrawlOptions)
    except msgspec.ValidationError as error:
        found = re.search(r"`\$\.(\w+)", str(error))
        name = "" if found is None else found[1]
        raise OptionError(f"{origins.get(name, 'options')}: {name}: {_explained(name, values, error)}") from error
    for name in values:
        wrong = trouble(name, getattr(options, name))
        if wrong:
            raise OptionError(f"{origins[name]}: {name}: {wrong}")
    return options


def _explained(name: str, values: Mapping[str, Any], error: msgspec.ValidationError) -> str:
    choices = [value for value in _kinds(name) if isinstance(value, str)]
    if choices:
        return f"{values[name]!r} is none of {', '.join(choices)}"
    return str(error).partition(" - at ")[0]


def _kinds(name: str) -> tuple[Any, ...]:
    """What an option may be: types, and the values of a choice."""
    hint = get_type_hints(CrawlOptions)[name]
    found: list[Any] = []
    for kind in get_args(hint) or (hint,):
        found += get_args(kind) or (kind,)
    return tuple(found)


def _check_key(key: str, origin: str) -> None:
    known = CrawlOptions.__struct_fields__
    if key not in known:
        near = difflib.get_close_matches(key, known, 1)
        hint = f"; did you mean {near[0]}?" if near else ""
        raise OptionError(f"{origin}: there is no option {key!r}{hint}")


def _plain(key: str, value: Any, origin: str) -> Any:
    """Durations and sizes may be written with units."""
    try:
        if key in _DURATIONS and isinstance(value, str):
            return duration_s(value)
        if key == "delays" and isinstance(value, Mapping):
            return {host: duration_s(delay) if isinstance(delay, str) else delay for host, delay in value.items()}
        if key in _SIZES and isinstance(value, str):
            return size_bytes(value)
    except UnitError as error:
        raise OptionError(f"{origin}: {key}: {error}") from error
    return value


def read_job(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise OptionError(f"{path} is not there") from None
    except PermissionError:
        raise OptionError(f"{path} is for its owner alone, as it may hold passwords; work as that user") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise OptionError(f"{path}: {error}") from error


def environment() -> dict[str, Any]:
    """Options given as WHIMBREL_NAME; lists are separated by commas."""
    found: dict[str, Any] = {}
    for name in CrawlOptions.__struct_fields__:
        text = os.environ.get(ENVIRONMENT + name.upper())
        if text is not None and name not in ("seeds", *_TABLES):
            found[name] = _from_text(name, text)
    return found


def _from_text(name: str, text: str) -> Any:
    default = getattr(CrawlOptions(), name)
    if isinstance(default, tuple):
        return [part.strip() for part in text.split(",") if part.strip()]
    if isinstance(default, bool):
        word = text.strip().lower()
        if word not in _WORDS:
            raise OptionError(f"environment: {name}: {text!r} is neither true nor false")
        return _WORDS[word]
    whole = re.fullmatch(r"\s*[+-]?[0-9]+\s*", text) is not None
    return int(text) if whole and int in _kinds(name) and name not in _SIZES else text


def job_text(given: ResolvedOptions) -> str:
    """The options that were given, as a job file; each with where it came from."""
    lines = ["# The job as given. `whimbrel config show` explains every value.\n"]
    for name in CrawlOptions.__struct_fields__:
        if name in given.origins and name not in _TABLES:
            value = getattr(given.options, name)
            if value is not None:
                lines.append(_line(name, value, given.origins[name]))
    if given.options.delays:
        lines.append("\n[delays]\n")
        lines += [_line(host, delay, given.origins.get("delays", "")) for host, delay in given.options.delays.items()]
    for part, settings in given.options.set.items():
        lines.append(f"\n[set.{_key(part)}]\n")
        lines += [_line(key, value, given.origins.get(f"set.{part}.{key}", "")) for key, value in settings.items()]
    return "".join(lines)


def _line(name: str, value: Any, origin: str) -> str:
    return f"{_key(name)} = {_toml(value)}  # origin: {' '.join(origin.split())}\n"


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else _text(name)


def _toml(value: Any) -> str:
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(_toml, value)) + "]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_key(key)} = {_toml(inner)}" for key, inner in value.items()) + "}"
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return json.dumps(value)


def _text(text: str) -> str:
    """JSON's strings are TOML's, but for one character."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
