"""Frames between pool and worker: a kind, the number of the request, the length, and so many bytes."""

import struct
from typing import Final

HEAD: Final = struct.Struct("<BQQ")

READY: Final = 0xA0
"""A worker's first frame: it can take requests."""
REQUEST: Final = 0xA1
REPLY: Final = 0xA2
LAST_REPLY: Final = 0xA3
"""A reply after which the worker leaves."""

ERROR_NUMBER: Final = struct.Struct("<i")
"""What a fork server answers, beside a descriptor of the worker: why there is none, or 0."""


def frame(kind: int, number: int, body: bytes = b"") -> bytes:
    return HEAD.pack(kind, number, len(body)) + body
