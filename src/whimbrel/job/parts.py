"""The names that a wiring may use."""

from pathlib import Path
from typing import Final

from whimbrel.flow import Registry, Wiring
from whimbrel.flow.toml import read_wiring

_COMPONENTS: Final = {
    "archivist": "whimbrel.effect.effects:Archivist",
    "dedupe": "whimbrel.dedupe.dedupe:Dedupe",
    "distributor": "whimbrel.route.distributor:Distributor",
    "downloader": "whimbrel.fetch.downloader:Downloader",
    "handlers": "whimbrel.handle.component:Handlers",
    "no-route": "whimbrel.route.distributor:NoRoute",
    "parser": "whimbrel.parse.parser:Parser",
    "qualifier": "whimbrel.qualify.qualifier:Qualifier",
    "traversal": "whimbrel.frontier.traversal:Traversal",
    "warc-reader": "whimbrel.offline.warc_reader:WarcReader",
}
_PROVIDERS: Final = {
    "bloom-seen": "whimbrel.frontier.seen:BloomSeen",
    "curl-transport": "whimbrel.fetch.curl:CurlTransport",
    "disk-content": "whimbrel.dedupe.rocks:RocksContent",
    "disk-frontier": "whimbrel.frontier.disk_frontier:DiskFrontier",
    "disk-seen": "whimbrel.frontier.seen:DiskSeen",
    "dns-resolver": "whimbrel.fetch.resolver:DnsResolver",
    "effects": "whimbrel.effect.effects:Effects",
    "gate": "whimbrel.frontier.gate:PacedGate",
    "handler-code": "whimbrel.handle.handler_pool:HandlerCode",
    "handler-pool": "whimbrel.handle.handler_pool:HandlerPool",
    "import-effects": "whimbrel.offline.import_effects:ImportEffects",
    "journal": "whimbrel.commit.journal:Journal",
    "local-permits": "whimbrel.frontier.permit:LocalPermits",
    "local-termination": "whimbrel.frontier.termination:LocalTermination",
    "rocks-state": "whimbrel.state.rocks:RocksState",
    "router": "whimbrel.route.router:Router",
    "seeding": "whimbrel.effect.seeding:Seeding",
    "static-resolver": "whimbrel.fetch.resolver:StaticResolver",
    "scheme-transports": "whimbrel.fetch.transports:Transports",
    "system-clock": "whimbrel.clock:SystemClock",
}
_HERE: Final = Path(__file__).parent


def registry(*files: Path) -> Registry:
    """What Whimbrel ships, what installed packages offer, and what the user's files define, the later before the
    earlier."""
    found = Registry().components(_COMPONENTS).providers(_PROVIDERS).entry_points()
    for file in files:
        found.file(file)
    return found


def wiring_names() -> list[str]:
    return sorted(path.stem for path in _HERE.glob("*.toml"))


def wiring(name: str) -> Wiring:
    """A wiring that Whimbrel ships, or that a file holds; a WiringError when it cannot be read."""
    return read_wiring(_HERE / f"{name}.toml" if name in wiring_names() else Path(name))
