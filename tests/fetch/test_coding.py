"""Content codings: what is right is decoded, what is broken is named, and nothing is unbounded."""

import gzip
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whimbrel.fetch.coding import decode
from whimbrel.simweb.exhibit.coding import encode

TEXT = b"<p>" + b"some words, " * 3000
LIMIT = 1 << 25
CODINGS = {"gzip": "gzip", "x-gzip": "gzip", "deflate": "deflate", "br": "br", "zstd": "zstd", "GZip": "gzip"}


@pytest.mark.parametrize("label", CODINGS)
def test_each_coding_is_undone(label: str) -> None:
    assert decode(encode(CODINGS[label], TEXT), label, LIMIT, 1000).body == TEXT


def test_deflate_without_a_header_is_read_too() -> None:
    assert decode(encode("deflate-raw", TEXT), "deflate", LIMIT, 1000).body == TEXT


def test_codings_are_undone_from_the_last_to_the_first() -> None:
    found = decode(encode("br", encode("gzip", TEXT)), "gzip, identity, br", LIMIT, 1000)
    assert (found.body, found.trouble) == (TEXT, "")


def test_members_and_frames_in_a_row_are_one_body() -> None:
    half = len(TEXT) // 2
    for coding in ("gzip", "zstd"):
        parts = encode(coding, TEXT[:half]) + encode(coding, TEXT[half:])
        assert decode(parts, coding, LIMIT, 1000).body == TEXT


def test_padding_after_the_last_member_is_ignored() -> None:
    found = decode(gzip.compress(TEXT) + b"\0" * 100, "gzip", LIMIT, 1000)
    assert (found.body, found.trouble) == (TEXT, "")


def test_an_unknown_coding_leaves_the_body_as_it_is() -> None:
    found = decode(TEXT, "snappy", LIMIT, 1000)
    assert (found.body, found.trouble, found.known) == (TEXT, "", False)


def test_more_than_four_codings_are_not_undone() -> None:
    body = TEXT
    for _ in range(5):
        body = encode("gzip", body)
    found = decode(body, ", ".join(["gzip"] * 5), LIMIT, 1000)
    assert (found.body, found.trouble) == (body, "undecodable")


@pytest.mark.parametrize("coding", ["gzip", "deflate", "br", "zstd"])
def test_what_ends_too_early_is_undecodable_and_its_beginning_is_kept(coding: str) -> None:
    prose = b"".join(b"%x " % (at * 2_654_435_761 % 2**32) for at in range(60_000))
    whole = encode(coding, prose)
    found = decode(whole[: len(whole) * 9 // 10], coding, LIMIT, 1000)
    assert found.trouble == "undecodable"
    assert found.body
    assert prose.startswith(found.body)


def test_a_wrong_checksum_is_undecodable() -> None:
    coded = bytearray(gzip.compress(TEXT))
    coded[-6] ^= 1
    assert decode(bytes(coded), "gzip", LIMIT, 1000).trouble == "undecodable"


@pytest.mark.parametrize("coding", ["gzip", "deflate", "br", "zstd"])
def test_decoding_stops_at_the_limit(coding: str) -> None:
    found = decode(encode(coding, b" " * 1_000_000), coding, 70_000, 1_000_000)
    assert (len(found.body), found.trouble) == (70_000, "decoded-cut")


@pytest.mark.parametrize("coding", ["gzip", "deflate", "br", "zstd"])
def test_a_body_of_just_the_limit_is_whole(coding: str) -> None:
    found = decode(encode(coding, b" " * 70_000), coding, 70_000, 1_000_000)
    assert (len(found.body), found.trouble) == (70_000, "")


def test_the_ratio_limits_what_is_large_already() -> None:
    found = decode(zlib.compress(b" " * (1 << 25)), "deflate", 1 << 26, 10)
    assert (len(found.body), found.trouble) == (4 << 20, "decoded-cut")


@given(st.binary(max_size=2000), st.sampled_from(["gzip", "deflate", "br", "zstd", "gzip, br", "identity", "x", ", ,"]))
def test_arbitrary_bytes_never_raise(body: bytes, coding: str) -> None:
    assert decode(body, coding, 1 << 20, 100).trouble in ("", "undecodable", "decoded-cut")


@given(st.binary(max_size=5000), st.lists(st.sampled_from(["gzip", "deflate", "br", "zstd"]), min_size=1, max_size=4))
def test_decoding_undoes_encoding(body: bytes, codings: list[str]) -> None:
    coded = body
    for coding in codings:
        coded = encode(coding, coded)
    assert decode(coded, ",".join(codings), LIMIT, 1000).body == body
