"""Documents that want to cost more than they weigh, and a process that reads one: `python -m tests.parse.bomb NAME`."""

import json
import random
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from whimbrel.parse.api import Reading
from whimbrel.parse.html import Html
from whimbrel.url import parse

MB: Final = 1_000_000
MOST: Final = 32 * 1024 * 1024
"""A parser is given no more (`ParserConfig.max_decoded_bytes`)."""


def full(piece: bytes, size: int = MOST) -> bytes:
    return (piece * (size // len(piece) + 1))[:size]


def noise(alphabet: bytes, size: int) -> bytes:
    return bytes(random.Random(1).choices(alphabet, k=size))  # noqa: S311


def bombs() -> dict[str, Callable[[], bytes]]:
    numbered = [b"%d" % at for at in range(200_000)]
    return {
        "one tag, 32 MB of it": lambda: full(b"<p>"),
        "one tag with 32 MB in an attribute": lambda: b"<a href='" + full(b"x") + b"'>",
        "one tag that never ends": lambda: b"<a " + full(b"x=y "),
        "a long base before short links": lambda: (
            b'<base href="/' + b"A" * 300_000 + b'/">' + b"".join(b"<a href=%b>" % at for at in numbered[:10_000])
        ),
        "a base of 4,000 characters": lambda: (
            b'<base href="/' + b"A" * 4_000 + b'/">' + b"".join(b"<a href=%b>" % at for at in numbered[:10_000])
        ),
        "a long base before odd links": lambda: b'<base href="/' + b"A" * MB + b'/">' + b'<area href="{">' * 3_000,
        "a way up": lambda: b'<a href="' + b"../" * 500_000 + b'x">',
        "a way that stays": lambda: b'<a href="' + b"./" * 2 * MB + b'x">',
        "many ways up": lambda: b"".join(b'<a href="%b%b">' % (b"../" * 5_000, at) for at in numbered[:390]),
        "words of links in links": lambda: (
            b"<svg>" + b"".join(b"<a href=%b>" % at for at in numbered[:2_000]) + full(b"ab ", 5_700_000)
        ),
        "words of links in objects": lambda: (
            b"".join(b"<a href=%b><object>" % at for at in numbered[:300]) + b"ab " * 200_000
        ),
        "long names of hosts": lambda: b"".join(
            b"<area href=//%b.x>" % "".join(map(chr, range(0x4E00 + at, 0x5DA0 + at))).encode() for at in range(480)
        ),
        "links to nowhere": lambda: full(b"<link href=a: rel=a>", 6 * MB),
        "frames of nowhere": lambda: full(b"<iframe src=a:></iframe>", 6 * MB),
        "different links to nowhere": lambda: b"".join(b"<area href=a:%b>" % at for at in numbered),
        "lines of two letters": lambda: full(b"ab\n", 6 * MB),
        "lines of two letters and one of another kind": lambda: "\U0001f600".encode() + full(b"ab\n", 6 * MB),
        "letters that are none": lambda: b"<meta charset=windows-1252>" + full(b"\x81", 6 * MB),
        "lines of letters that are none": lambda: b"<meta charset=windows-1252>" + full(b"\x80\x80\n", 6 * MB),
        "one attribute each, of html": lambda: b"".join(
            b"<html " + b" ".join(b"a%b" % number for number in numbered[at * 50 : at * 50 + 50]) + b">"
            for at in range(4_000)
        ),
        "attributes of formatting before paragraphs": lambda: (
            b"<p><b " + b" ".join(b"a%b" % at for at in numbered[:100_000]) + b">" + b"<p>x" * 3_500
        ),
        "attributes of many formatting tags": lambda: (
            b"<p>" + b"".join(b"<b c=%b %b>" % (at, b" ".join(numbered[:500])) for at in numbered[:400]) + b"<p>x" * 999
        ),
        "nested div": lambda: full(b"<div>", 4 * MB),
        "nested div with words": lambda: full(b"<div>x", 4 * MB),
        "nested div and their ends": lambda: full(b"<div>", 2 * MB) + full(b"</div>", 2 * MB),
        "nested span, closed in the wrong order": lambda: full(b"<span><i>", 2 * MB) + full(b"</span></i>", 2 * MB),
        "open formatting before paragraphs": lambda: b"<b x=1><b x=2><b x=3>" + full(b"<p>x", MB),
        "open formatting, all different": lambda: b"".join(b"<b id=%b><i id=%b><p>" % (at, at) for at in numbered),
        "the adoption agency": lambda: full(b"<a href=x><b><table><tr><td></a></b>", 4 * MB),
        "the adoption agency, nested": lambda: full(b"<b><i><u><s><p></b></i></u></s>", 4 * MB),
        "links in links": lambda: full(b"<a href=x>y", 4 * MB),
        "different links": lambda: b"".join(b"<a href=/%b>%b</a>" % (at, at) for at in numbered),
        "attributes": lambda: b"<p " + b" ".join(b"a%b=%b" % (at, at) for at in numbered) + b">",
        "attributes of html, again and again": lambda: b"".join(b"<html a%b=1>" % at for at in numbered),
        "tables in tables": lambda: full(b"<table><tr><td>x", 4 * MB),
        "text that a table moves out": lambda: full(b"<table>x<tr>y<td>z", 4 * MB),
        "cells that span": lambda: b"<table><tr>" + b"<td colspan=1000 rowspan=65534>x" * 20_000 + b"<tr><td>y" * 9_000,
        "wide rows": lambda: b"<table><tr>" + full(b"<td>x", 2 * MB),
        "lists in lists": lambda: full(b"<ul><li>x", 4 * MB),
        "quotations in quotations": lambda: b"<blockquote>" * 5_000 + b"<p>x" * 200_000,
        "list items deep inside": lambda: b"<ol><li>" * 5_000 + b"<li>x" * 200_000,
        "templates": lambda: full(b"<template><a href=x>", 4 * MB),
        "templates of shadow roots": lambda: full(b"<div><template shadowrootmode=open><a href=x>", 4 * MB),
        "foreign content": lambda: full(b"<svg><foreignObject><math><mi><p>", 4 * MB),
        "foreign content with breakouts": lambda: full(b"<svg><g><p></svg>", 4 * MB),
        "entities": lambda: full(b"&amp;&lt;&CounterClockwiseContourIntegral;&#1114111;&nosuch", 8 * MB),
        "an entity in an attribute": lambda: b"<a href='&" + full(b"a", 8 * MB) + b"'>" + full(b"<p>", MB),
        "an entity without an end": lambda: b"&" + full(b"a", 8 * MB),
        "numbers of characters": lambda: b"&#" + full(b"9", 8 * MB) + b";",
        "comments that do not end": lambda: full(b"<!--", 8 * MB),
        "comments": lambda: full(b"<!---->", 3 * MB),
        "doctypes": lambda: full(b"<!doctype html>", 4 * MB),
        "scripts that do not end": lambda: full(b"<script><!--<script>", 8 * MB),
        "select and option": lambda: full(b"<select><optgroup><option>x", 4 * MB),
        "unclosed everything": lambda: full(b"<p><b><table><ul><li><dl><dt><form><button><h1><pre><em>", 4 * MB),
        "NULs": lambda: full(b"\0", MOST),
        "NULs between tags": lambda: full(b"<\0p\0><a\0 href=\0>", 4 * MB),
        "frames": lambda: full(b"<frameset><frame src=x>", 4 * MB),
        "bases": lambda: full(b"<base href=/x/>", 4 * MB),
        "meta robots": lambda: full(b"<meta name=robots content=noindex,x>", 4 * MB),
        "line breaks": lambda: b"<pre>" + full(b"\n", MOST - 10),
        "a character of four bytes in 32 MB": lambda: "\U0001f600".encode() + full(b"word ", MOST - 10),
        "characters of four bytes": lambda: full("\U0001f600".encode()),
        "bytes that are no UTF-8": lambda: full(b"\xff\xc3", 16 * MB),
        "brackets": lambda: full(b"<", 8 * MB),
        "tags of noise": lambda: noise(b"<>/ab='\" \0&;!-", 2 * MB),
    }  # fmt: skip


def peak_kb() -> int:
    """Of this process; `getrusage` would also count what its parent had when it was forked."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM"))


def main() -> None:
    body = bombs()[sys.argv[1]]()
    url = parse("http://a.test/dir/page")
    assert url is not None
    reader = Html(Reading())
    reader.read(b"<p>warm", url, "text/html", "")
    started_s = time.process_time()
    page = reader.read(body, url, "text/html", "")
    used_s = time.process_time() - started_s
    peak_mb = peak_kb() / 1024
    print(json.dumps({"s": used_s, "mb": peak_mb - len(body) / 2**20, "links": len(page.links)}))  # noqa: T201


if __name__ == "__main__":
    main()
