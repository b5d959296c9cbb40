"""Crowded addresses, remembered over a restart: it takes fifty domains to know one.

The state's space `addresses` has a key for each: the address's own slot in two bytes, then its network as text.
"""

import msgspec

from whimbrel.state.api import KeyValues
from whimbrel.url.key import slot

_SPACE = "addresses"


class Crowd(msgspec.Struct, frozen=True, array_like=True, gc=False):
    cap: int
    """Requests that may be in flight there."""
    domains: int
    """Registered domains that it was seen with when it became a crowd: with a higher limit it is none."""


def recall(state: KeyValues, network: str) -> Crowd | None:
    """What is known of an address as a crowd; None when it is not known for one."""
    found = state.get(_SPACE, _key(network))
    return None if found is None else msgspec.msgpack.decode(found, type=Crowd)


def remember(state: KeyValues, network: str, crowd: Crowd) -> None:
    state.put(_SPACE, _key(network), msgspec.msgpack.encode(crowd))


def _key(network: str) -> bytes:
    return slot(network).to_bytes(2, "big") + network.encode()
