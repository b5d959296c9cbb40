"""Byte order mark, header, meta tag, then what the bytes look like."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.parse.answers import page_of
from whimbrel.parse.charset import to_utf8

WORDS = "café Ærøskøbing"


@pytest.mark.parametrize(
    ("body", "header", "charset"),
    [
        (WORDS.encode(), "", "utf-8"),
        (WORDS.encode("latin-1"), "", "windows-1252"),
        (WORDS.encode("latin-1"), "iso-8859-1", "windows-1252"),
        (WORDS.encode("latin-1"), "no-such-charset", "windows-1252"),
        (b'<meta charset="iso-8859-1">' + WORDS.encode("latin-1"), "", "windows-1252"),
        (b"<META CHARSET=Latin1 >" + WORDS.encode("latin-1"), "", "windows-1252"),
        (b"<!-- <meta charset=koi8-r> --><meta charset=utf-8>" + WORDS.encode(), "", "utf-8"),
        (b"<meta charset=utf-16>" + WORDS.encode(), "", "utf-8"),
        (b"<meta http-equiv='Content-Type' content='text/html; charset=windows-1252'>" + WORDS.encode("cp1252"), "",
         "windows-1252"),
        (b"<?xml version='1.0' encoding='ISO-8859-1'?>" + WORDS.encode("latin-1"), "", "windows-1252"),
        (b" " * 1024 + b"<meta charset=koi8-r>" + WORDS.encode(), "", "utf-8"),
        (b"\xef\xbb\xbf" + WORDS.encode(), "koi8-r", "utf-8"),
        (b"\xff\xfe" + WORDS.encode("utf-16-le"), "utf-8", "utf-16le"),
        (b"\xfe\xff" + WORDS.encode("utf-16-be"), "utf-8", "utf-16be"),
        (b"<meta charset=koi8-r>" + WORDS.encode("latin-1"), "latin1", "windows-1252"),
    ],
)  # fmt: skip
def test_the_words_are_read_whatever_says_what_they_are(body: bytes, header: str, charset: str) -> None:
    converted, found = to_utf8(body, header)
    assert found == charset
    assert converted.decode().endswith(WORDS)


def test_a_character_cut_in_two_at_the_end_does_not_make_a_page_latin() -> None:
    assert to_utf8("ééé".encode()[:-1], "")[1] == "utf-8"


def test_east_asian_pages_are_read() -> None:
    for charset, words in (("shift_jis", "日本語"), ("gb2312", "中文"), ("euc-kr", "한국어"), ("koi8-r", "слово")):
        page = page_of(f"<a href=/x>{words}</a>".encode(charset), content_type=f"text/html; charset={charset}")
        assert page.links[0].anchor == words


@given(st.binary(max_size=300), st.text(max_size=20))
def test_arbitrary_bytes_and_labels_never_raise(body: bytes, label: str) -> None:
    to_utf8(body, label)
    to_utf8(b"<meta charset=" + body, label)
