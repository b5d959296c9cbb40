"""COMMITTED, as it stands and with a check sum that fits."""

import zlib
from typing import Final

import msgspec

from tests.fuzz.api import CORPUS, Target, plain
from whimbrel.commit.committed import Committed, CommittedDamaged, CrawlTooNew, decode, encode

_SEEDS: Final = {data: decode(data, "seed") for data in [(CORPUS / "committed" / "seed").read_bytes()]}


def read(data: bytes) -> None:
    found = _decoded(data)
    if found is not None:
        # Whatever passes for whole says what was written: the check sum is of these contents.
        checksum, _, body = data.rstrip(b"\n").partition(b" ")
        assert int(checksum, 16) == zlib.crc32(body)
    for seed, value in _SEEDS.items():
        if found is not None and len(data) == len(seed):
            assert found == value, "a changed byte was not noticed"
    _, _, body = data.partition(b" ")
    fitting = _decoded(b"%08x %b" % (zlib.crc32(body.rstrip(b"\n")), body))
    if fitting is not None:
        assert decode(encode(fitting), "again") == fitting
        msgspec.to_builtins(fitting)
        _ = (fitting.archive(), fitting.facts())


def _decoded(data: bytes) -> Committed | None:
    try:
        return decode(data, "COMMITTED")
    except (CommittedDamaged, CrawlTooNew):
        return None


TARGET: Final = Target(
    "committed",
    plain(read),
    (
        b'"format":1',
        b'"format":3',
        b'"files":{',
        b'"counters":{',
        b"null",
        b"[]",
        b'"\\ud800"',
        b"1e400",
        b"{",
        b"}",
        b'"state":"done"',
    ),
    quick_inputs=12_000,
)
