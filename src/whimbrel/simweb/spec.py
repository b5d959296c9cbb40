"""What a simulated web is made of: one frozen value, from Python, from presets, or from a TOML file."""

import re
from pathlib import Path
from typing import Annotated, Final, Literal

import msgspec
from msgspec import Meta

from whimbrel.error import UsageError

Share = Annotated[float, Meta(ge=0.0, le=1.0)]
Count = Annotated[int, Meta(ge=1)]

EPOCH_S: Final = 1_767_225_600.0
"""2026-01-01T00:00:00Z: where the virtual clock stands until somebody moves it."""


class SpecError(UsageError, ValueError):
    """A specification that cannot be used; the message says which key and why."""


class WebSpec(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Everything that decides the bytes of a simulated web. Two equal specs give two equal webs."""

    seed: int = 1
    hosts: Annotated[int, Meta(ge=1, le=10_000_000)] = 10
    pages: Count = 20
    """Ordinary pages per host; the mean when `pages_tail` is on."""
    pages_tail: bool = False
    """Page counts follow a power law instead of being equal."""
    page_bytes: Annotated[int, Meta(ge=2_000, le=4_000_000)] = 28_000
    bytes_tail: bool = False
    """Page sizes follow a heavy-tailed distribution with median `page_bytes`, up to 4 MB."""
    links: Annotated[int, Meta(ge=9, le=500)] = 50
    external: Share = 0.1
    """Share of links that leave the site."""
    hosts_per_domain: Annotated[int, Meta(ge=1, le=8)] = 4
    suffix: str = "test"

    http_port: Annotated[int, Meta(ge=1, le=65_535)] = 18_080
    https_port: Annotated[int, Meta(ge=1, le=65_535)] = 18_443
    refused_port: Annotated[int, Meta(ge=1, le=65_535)] = 18_081
    """Held but never listened on: the port of hosts that refuse connections."""
    https: Share = 0.0
    """Share of hosts whose pages are on https."""
    http10: Share = 0.0
    """Share of hosts that speak HTTP/1.0 and close after each answer."""

    latency_ms: Annotated[int, Meta(ge=0)] = 0
    """Mean wait before an answer; each host has its own, between 0.2 and 5 times the mean."""
    latency_spread: bool = True
    """False: every host waits exactly `latency_ms`."""
    bandwidth_kbps: Annotated[int, Meta(ge=0)] = 0
    """Mean bandwidth of a host in kilobytes per second; 0 is unlimited."""
    idle_s: Annotated[float, Meta(gt=0)] = 15.0
    """Mean time a kept-alive connection may be idle before the server closes it."""
    codings: tuple[Literal["gzip", "br", "zstd"], ...] = ("gzip", "br", "zstd")
    """Content codings the servers know; the first that the client accepts is used, in the client's order."""

    shared: Share = 0.2
    """Share of hosts that share an address with a handful of others."""
    cdn: Share = 0.05
    """Share of hosts on an address that up to 10,000 others share."""
    several: Share = 0.05
    """Share of hosts with several addresses."""

    exhibits: dict[str, Share] = {}
    """For each page exhibit (`whimbrel simweb faults`): the chance that an ordinary page links to one."""
    robots: dict[str, Share] = msgspec.field(default_factory=lambda: {"missing-404": 0.5})
    """Share of hosts with each robots.txt variant; the rest allow everything."""
    trouble: dict[str, Share] = {}
    """Share of hosts with each host trouble (DNS, connection, TLS)."""
    mirrors: Share = 0.0
    """Share of hosts that serve the pages of another host, byte for byte."""
    soft404: Share = 0.0
    """Share of hosts that answer 200 for pages they do not have."""

    change_s: Annotated[float, Meta(gt=0)] = 30 * 86_400.0
    """Mean time between two changes of a page; each page has its own, between 0.02 and 50 times the mean."""
    volatile_s: Annotated[float, Meta(gt=0)] = 3_600.0
    """How often the volatile part of a page that has one changes."""
    volatile: Share = 0.25
    """Share of pages with a volatile part."""
    epoch_s: float = EPOCH_S

    def __post_init__(self) -> None:
        # Imported here: the catalogue's exhibits are built on this module's values.
        from whimbrel.simweb.exhibit import check_names

        check_names(self)
        for key in ("robots", "trouble"):
            total = sum(getattr(self, key).values())
            if total > 1.0 + 1e-9:
                raise ValueError(f"{key}: the shares of hosts add up to {total:g}, more than 1")
        if not re.fullmatch(r"[a-z0-9-]+(\.[a-z0-9-]+)*", self.suffix):
            raise ValueError(f"suffix: {self.suffix!r} is no domain in lower case")


def changed(spec: WebSpec, changes: dict[str, object]) -> WebSpec:
    """The same web with some keys changed, checked as a whole."""
    try:
        return msgspec.convert({**msgspec.structs.asdict(spec), **changes}, WebSpec)
    except (msgspec.ValidationError, ValueError) as error:
        raise SpecError(str(error)) from error


def read_spec(path: Path) -> WebSpec:
    """Read a specification from TOML, or from JSON by its ending; trouble is a `SpecError` that names the file."""
    decode = msgspec.json.decode if path.suffix == ".json" else msgspec.toml.decode
    try:
        return decode(path.read_bytes(), type=WebSpec)
    except (msgspec.DecodeError, ValueError, OSError) as error:
        raise SpecError(f"{path}: {error}") from error
