"""The order of a host's queue, as the keys it is kept under.

A key is the host's ten bytes, a class and an order within the class. Class 0 is the head of the queue: targets of
redirects, and URLs whose time to be tried again has come. Class 1 is the order that the crawl was asked for at first.
When it is asked for another, URLs that are found from then on come before those that wait, in the new order; each
change has a class of its own between the head and those before it. Nothing that is queued has to be touched for that.
Class 254 is beyond all of them: entries that wait to be tried again, in the order of their times.
"""

from typing import Final, Literal

from whimbrel.url import Url

Order = Literal["breadth", "depth", "ascend"]
_MOST: Final = (1 << 48) - 1
_MOST_CHANGES: Final = 0xFFFE
_WAITING: Final = b"\xfe"
HOST_BYTES: Final = 10
"""A slot and the hash of a site."""


def head_key(host: bytes, number: int) -> bytes:
    return host + b"\0" + number.to_bytes(6, "big")


def class_of(changes: int) -> bytes:
    """The class of URLs that are queued after so many changes of the order. Keys of the head go on with a number of six
    bytes, which never gets as far as 0xFF."""
    return b"\1" if not changes else b"\0\xff" + (_MOST_CHANGES - min(changes, _MOST_CHANGES)).to_bytes(2, "big")


def queue_key(order: Order, host: bytes, url: Url, depth: int, number: int, kind: bytes = b"\1") -> bytes:
    """`number` rises with every entry of the host; `kind` is the class."""
    if order == "breadth":
        return host + kind + min(depth, 0xFFFF).to_bytes(2, "big") + number.to_bytes(6, "big")
    if order == "depth":
        return host + kind + (_MOST - number).to_bytes(6, "big")
    return (
        host
        + kind
        + min(url.target.partition("?")[0].count("/"), 0xFFFF).to_bytes(2, "big")
        + number.to_bytes(6, "big")
    )


def waiting_key(host: bytes, due_s: float, number: int) -> bytes:
    """Of an entry that is not to be tried again before a time."""
    return host + _WAITING + time_bytes(due_s) + number.to_bytes(6, "big")


def is_waiting(key: bytes) -> bool:
    return key[HOST_BYTES : HOST_BYTES + 1] == _WAITING


def retry_key(key: bytes) -> bytes:
    """Where the key of an entry that waits stands in the order of times."""
    return key[HOST_BYTES + 1 : HOST_BYTES + 9] + key


def end_of(host: bytes) -> bytes:
    """Beyond every key of a host's queue, but for those that wait to be tried again."""
    return host + _WAITING


def time_bytes(due_s: float) -> bytes:
    """Seconds of the crawl's time as eight bytes, rounded up to whole milliseconds."""
    return max(0, -int(-due_s * 1000 // 1)).to_bytes(8, "big")


def time_of(key: bytes) -> float:
    """The seconds that a key begins with."""
    return int.from_bytes(key[:8], "big") / 1000
