"""The order of a host's queue, as the keys it is kept under.

A key is the host's ten bytes, a class and an order within the class. Class 0 is the head of the queue: targets of
redirects and URLs to be tried again. Class 1 is the order that the crawl was asked for.
"""

from typing import Final, Literal

from whimbrel.url import Url

Order = Literal["breadth", "depth", "ascend"]
_MOST: Final = (1 << 48) - 1


def head_key(host: bytes, number: int) -> bytes:
    return host + b"\0" + number.to_bytes(6, "big")


def queue_key(order: Order, host: bytes, url: Url, depth: int, number: int) -> bytes:
    """`number` rises with every URL of the crawl."""
    if order == "breadth":
        return host + b"\1" + min(depth, 0xFFFF).to_bytes(2, "big") + number.to_bytes(6, "big")
    if order == "depth":
        return host + b"\1" + (_MOST - number).to_bytes(6, "big")
    return (
        host
        + b"\1"
        + min(url.target.partition("?")[0].count("/"), 0xFFFF).to_bytes(2, "big")
        + number.to_bytes(6, "big")
    )


def end_of(host: bytes) -> bytes:
    """Beyond every key of a host's queue."""
    return host + b"\xff"
