"""Hostile documents neither stall the crawler nor eat its memory, and ordinary ones get their tree."""

import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.parse.answers import ask, page_of, settle
from whimbrel.parse.guard import is_cheap

ROOT = Path(__file__).parents[2]


def formatting(count: int, value: bytes = b"") -> bytes:
    tags = b"".join(b"<b a=%b%d>" % (value, at) for at in range(count))
    return b"<p>" + tags + b"</p><p>x" * count + b"<a href=/found>found</a>"


HOSTILE = {
    "nested": b"<a href=/found>found</a>" + b"<div>" * 100_000,
    "nested, end tags that match nothing": b"<a href=/found>found</a>" + b"<div></x>" * 50_000,
    "nested, end tags out of scope": b"<a href=/found>found</a>" + b"<div><object></div></object>" * 25_000,
    "lists": b"<a href=/found>found</a>" + b"<ul><li>" * 50_000,
    "formatting": formatting(4_000),
    "formatting, few tags": formatting(2_000),
    "formatting, long values": formatting(300, b"y" * 20_000),
    "formatting, closed in a quote": formatting(2_000).replace(b"<b a=", b'<b a="></b>" c='),
    "formatting, closed by another name": b"<p>"
    + b"".join(b'<b a="%d">x</b\x0b>' % at for at in range(2_000))
    + b"</p><p>x" * 2_000
    + b"<a href=/found>found</a>",
    "formatting, shouted": formatting(2_000).replace(b"<b a=", b"<FONT\na="),
    "attributes": b"<a href=/found>found</a><p " + b" ".join(b"k%d" % at for at in range(200_000)) + b">",
    "attributes, with angle brackets": b"<a href=/found>found</a><p "
    + b" ".join(b'k%d="<a>"' % at if at % 100 == 0 else b"k%d" % at for at in range(200_000))
    + b">",
    "attributes of many body tags": b"<a href=/found>found</a>"
    + b"".join(b"<body " + b" ".join(b"k%d" % at for at in range(of, of + 100)) + b">" for of in range(0, 99999, 100)),
    "attributes of many tags": b"<a href=/found>found</a>"
    + (b"<i " + b" ".join(b"k%d" % at for at in range(990)) + b">") * 1_000,
    "attributes of a link": b"<a href=/found " + b" ".join(b"k%d" % at for at in range(1_000_000)) + b">",
    "a tag that never ends": b"<a href=/found>found</a>" + b"<a " * 300_000,
    "quotes that never end": b"<a href=/found>found</a>" + b"<a b=' c=\"" * 100_000,
    "comments that never end": b"<a href=/found>found</a>" + b"<!--" * 300_000,
    "end tags of raw text": b"<a href=/found>found</a>" + b"<title></titl" * 100_000,
    "references": b"<a href=/found>found</a>" + b"&notin" * 300_000,
    "adoption": b"<a href=/found>found</a>" + b"<b><div>" * 4000 + b"</b>" * 3900,
    "tables": b"<a href=/found>found</a>" + b"<table><b>x<p>" * 20_000,
}  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_document_is_read_in_about_a_second(name: str) -> None:
    began = time.process_time()
    page = page_of(HOSTILE[name])
    assert time.process_time() - began < 2.5
    assert page.links[-1 if "formatting" in name else 0].target == "http://a.test/found"


def test_the_exhibit_of_nested_elements_takes_less_than_a_second() -> None:
    fetched, _ = ask("/x/html-nested/1")
    began = time.process_time()
    settle(fetched)
    assert time.process_time() - began < 1


MEMORY = """
import resource
from tests.parse.test_guard import HOSTILE
from tests.parse.answers import page_of
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
for body in HOSTILE.values():
    page_of(body)
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)
"""


def test_hostile_documents_take_little_memory() -> None:
    done = subprocess.run([sys.executable, "-c", MEMORY], capture_output=True, text=True, check=True, cwd=ROOT)
    assert int(done.stdout) < 400


def test_ordinary_documents_get_a_tree() -> None:
    code = b'<p>Use <code class="xref"><span class="pre">f%d()</span></code> or <i class=icon></i> <em title="a">b</em>'
    assert is_cheap(b"".join(code % at for at in range(800)))
    assert is_cheap(b"<p>words and more words</p>\n" * 5_900)
    assert is_cheap(b"<script>" + b"var x = 'a b c';\n" * 50_000 + b"</script>")
    assert is_cheap(b"<img src='data:image/png;base64," + b"AAAA/BBB" * 50_000 + b"'>")
