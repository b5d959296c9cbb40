"""Wirings that are changed by hand: components that are added and removed."""

from dataclasses import replace

from whimbrel.control.api import Add, Joint, Refused, Remove
from whimbrel.flow import BadWiring, ComponentSpec, ConnectorSpec
from whimbrel.flow.wiring import Wiring
from whimbrel.job.crawl_wiring import base_wiring
from whimbrel.job.live_crawl import LiveCrawl
from whimbrel.job.stored import OWN_WIRING

__all__ = ["OWN_WIRING", "added", "removed", "wiring_of"]


def wiring_of(running: LiveCrawl) -> Wiring:
    """What the crawl's wiring was made from: without the settings, which options decide, and without handlers."""
    return base_wiring(running.given.options, running.directory)


def added(wiring: Wiring, action: Add) -> Wiring:
    spec = ComponentSpec(action.name, action.use, action.config, action.needs, action.instances, action.place)
    parted = {(joint.source, joint.target) for joint in action.parts}
    known = {(one.source, one.target) for one in wiring.connectors}
    for source, target in parted - known:
        raise Refused(f"there is no connector {source} -> {target}")
    kept = tuple(one for one in wiring.connectors if (one.source, one.target) not in parted)
    return replace(wiring, connectors=kept).adding(spec, *map(_connector, action.connectors))


def removed(wiring: Wiring, action: Remove) -> Wiring:
    try:
        rest = wiring.removing(action.name)
    except BadWiring as error:
        raise Refused(str(error)) from error
    return rest.adding(*map(_connector, action.connectors))


def _connector(joint: Joint) -> ConnectorSpec:
    return ConnectorSpec(joint.source, joint.target, joint.kind, joint.capacity, joint.batch)
