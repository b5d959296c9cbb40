"""Heads as libcurl hands them out."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fetch.rig import request, url
from whimbrel.fetch.head import host_header, read_head, request_head

EMPTY = b"\r\n"


def test_names_are_lower_case_and_repeated_values_are_joined_in_order() -> None:
    lines = [b"HTTP/1.1 200 OK\r\n", b"Set-Cookie: a=1\r\n", b"X:\r\n", b"set-cookie:b=\xe9 \r\n", EMPTY]
    found = read_head(lines)
    assert found is not None
    assert found.headers == {"set-cookie": "a=1, b=é", "x": ""}
    assert found.head == b"HTTP/1.1 200 OK\r\nSet-Cookie: a=1\r\nX:\r\nset-cookie:b=\xe9 \r\n"
    assert (found.status, found.http_version) == (200, "1.1")


def test_interim_heads_and_trailers_are_left_out() -> None:
    interim = [b"HTTP/1.1 100 Continue\r\n", EMPTY, b"HTTP/1.1 103 Early Hints\r\n", b"Link: x\r\n", EMPTY]
    final = [b"HTTP/1.1 404 Not Found\r\n", b"A: b\r\n"]
    found = read_head([*interim, *final, EMPTY, b"Trailer: t\r\n", EMPTY])
    assert found is not None
    assert (found.status, found.head, found.headers) == (404, b"".join(final), {"a": "b"})
    found = read_head([*final, EMPTY, b"Trailer: t\r\n"])
    assert found is not None
    assert found.headers == {"a": "b"}


def test_line_ends_are_made_good_and_http_2_gets_a_reason() -> None:
    found = read_head([b"HTTP/1.0 200 Fine\n", b"A: b\n", b"\n"])
    assert found is not None
    assert found.head == b"HTTP/1.0 200 Fine\r\nA: b\r\n"
    assert found.http_version == "1.0"
    found = read_head([b"HTTP/2 404 \r\n", b"a: b\r\n", EMPTY])
    assert found is not None
    assert (found.head, found.http_version) == (b"HTTP/2 404 Not Found\r\na: b\r\n", "2")
    found = read_head([b"HTTP/2 599 \r\n", EMPTY])
    assert found is not None
    assert found.head == b"HTTP/2 599 \r\n"


def test_blanks_in_a_status_line_do_not_matter() -> None:
    for line in (b"HTTP/1.1  200 OK\r\n", b"HTTP/1.1\t200\r\n", b"HTTP/1.1 200\r\n"):
        found = read_head([line, EMPTY])
        assert found is not None
        assert (found.status, found.http_version, found.head) == (200, "1.1", line)


@given(st.lists(st.binary(max_size=12).map(lambda line: line.replace(b"\n", b"") + b"\r\n")))
def test_whatever_the_lines_are_reading_them_raises_nothing(lines: list[bytes]) -> None:
    for first in (b"HTTP/1.1 200 OK\r\n", b"HTTP/1.1 100 Continue\r\n", b"HTTP/2 200 \r\n", b"\xff\r\n"):
        found = read_head([first, *lines])
        assert found is None or found.head.endswith(b"\r\n")


@pytest.mark.parametrize("end", [b"\r", b"\n", b"\r\n", b"\r\r\n", b"\rX: y\r\n"])
@pytest.mark.parametrize("trailers", [[], [b"Trailer: 1\r\n", EMPTY]])
def test_a_line_that_begins_with_a_line_end_ends_the_head_as_in_libcurl(end: bytes, trailers: list[bytes]) -> None:
    found = read_head([b"HTTP/1.1 200 OK\r\n", b"A: b\r\n", end, *trailers])
    assert found is not None
    assert (found.head, found.headers) == (b"HTTP/1.1 200 OK\r\nA: b\r\n", {"a": "b"})


@pytest.mark.parametrize("lines", [[], [EMPTY], [b"HTTP/1.1 100 Continue\r\n", EMPTY], [b"nonsense\r\n", EMPTY]])
def test_without_a_final_head_there_is_none(lines: list[bytes]) -> None:
    assert read_head(lines) is None


def test_the_port_is_named_unless_it_is_the_scheme_s_own() -> None:
    assert host_header(url("http://a.test/")) == "a.test"
    assert host_header(url("https://a.test/")) == "a.test"
    assert host_header(url("http://a.test:443/")) == "a.test:443"
    assert host_header(url("https://[fd00::1]:8443/")) == "[fd00::1]:8443"
    assert request_head(request("http://a.test/b?c#d"), b"X: y\r\n") == b"GET /b?c HTTP/1.1\r\nHost: a.test\r\nX: y\r\n"
