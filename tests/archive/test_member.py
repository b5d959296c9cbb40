"""Members are read by the standard library, whatever the record holds; and what cannot get smaller is stored."""

import gzip

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.archive.sample import noise_bytes
from whimbrel.archive.member import LIBRARIES, compressor

HEAD = b"WARC/1.1\r\nWARC-Type: response\r\nContent-Type: application/http;msgtype=response\r\n\r\n"
HTTP = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Encoding: gzip\r\n\r\n"
END = b"\r\n\r\n"
SIZES = (0, 1, 1_999, 2_000, 65_535, 65_536, 131_070, 200_000, 1_500_000)


def noise(size: int) -> bytes:
    return noise_bytes(1, size)


@pytest.mark.parametrize(("library", "level"), [(name, one) for name, levels in LIBRARIES.items() for one in levels])
def test_every_level_is_read_by_others(library: str, level: int) -> None:
    pack = compressor(library, level)
    for size in SIZES:
        for payload in (
            noise(size),
            b"<p>word " * (size // 8),
            gzip.compress(b"<p>" + noise(size // 8).hex().encode()),
        ):
            record = (HEAD, HTTP, payload, END)
            assert gzip.decompress(b"".join(pack(record))) == b"".join(record)


@given(
    st.lists(st.binary(max_size=3_000), min_size=1, max_size=3),
    st.one_of(st.binary(max_size=5_000), st.integers(0, 90_000).map(noise)),
    st.sampled_from(["isal", "zlib"]),
)
def test_any_record_comes_back(heads: list[bytes], payload: bytes, library: str) -> None:
    record = (*heads, payload, END)
    assert gzip.decompress(b"".join(compressor(library, 1)(record))) == b"".join(record)


@pytest.mark.parametrize("size", [3_000, 70_000, 2_000_000])
def test_what_is_compressed_already_stands_in_the_member_as_it_is(size: int) -> None:
    payload = gzip.compress(noise(size))
    member = b"".join(compressor("isal", 1)((HEAD, HTTP, payload, END)))
    assert payload[:60_000] in member
    assert len(member) < len(payload) + len(HEAD) + len(HTTP) + 200 + size // 10_000


def test_text_is_compressed_though_it_begins_with_other_letters() -> None:
    words = "Слово за слово и ничего больше. ".encode() * 200
    assert len(b"".join(compressor("isal", 1)((HEAD, HTTP, words, END)))) < len(words) // 4
