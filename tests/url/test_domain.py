"""Registered domains are those of the public suffix list, private section included."""

import subprocess
import sys

import pytest

from whimbrel.url import Domains


@pytest.mark.parametrize(
    ("host", "domain"),
    [
        ("example.com", "example.com"),
        ("www.a.b.example.com", "example.com"),
        ("www.example.co.uk", "example.co.uk"),
        ("alice.github.io", "alice.github.io"),
        ("www.alice.github.io", "alice.github.io"),
        ("github.io", "github.io"),
        ("com", "com"),
        ("localhost", "localhost"),
        ("www.s12.test", "s12.test"),
        ("www.ck", "www.ck"),
        ("a.b.c.ck", "b.c.ck"),
        ("www.xn--85x722f.xn--55qx5d.cn", "xn--85x722f.xn--55qx5d.cn"),
        ("10.0.0.1", "10.0.0.1"),
        ("[::1]", "[::1]"),
        ("www.example.com.", "example.com"),
        ("com.", "com"),
        (".", "."),
        ("a..b", "a..b"),
    ],
)
def test_a_host_belongs_to_its_registered_domain(host: str, domain: str) -> None:
    assert Domains().registered(host) == domain


def test_the_cache_is_bounded_and_answers_stay_right() -> None:
    domains = Domains(cache_bytes=4_000)
    for number in range(1000):
        assert domains.registered(f"www.s{number % 37}.test") == f"s{number % 37}.test"


def test_the_list_is_not_read_at_import() -> None:
    code = "import sys, whimbrel.url; whimbrel.url.Domains(); print('publicsuffixlist' in sys.modules)"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert out.strip() == "False"
