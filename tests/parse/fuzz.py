"""Mutated and made-up documents for the HTML reader and for what handlers ask of a page, until the time is up:
`python -m tests.parse.fuzz MINUTES [SEED]` (`make fuzz` runs an hour).

Documents are read in a child process, which writes each down before it reads it. A child that dies, raises, takes over
a second of CPU or grows beyond 300 MB leaves its document in the folder `fuzz-finds`, and the exit code is 1.
"""

import os
import random
import signal
import sys
import time
import traceback
from pathlib import Path
from typing import Final

from tests.parse.bomb import peak_kb
from whimbrel.handle.page import Page, RawPage
from whimbrel.parse.api import Reading
from whimbrel.parse.html import Html
from whimbrel.url import parse

FINDS: Final = Path("fuzz-finds")
_BATCH: Final = 200
_MOST_S: Final = 1.0
_MOST_KB: Final = 300_000
_TAGS: Final = (
    *(
        "a",
        "p",
        "b",
        "i",
        "font",
        "table",
        "tr",
        "td",
        "caption",
        "col",
        "tbody",
        "div",
        "span",
        "ul",
        "li",
        "svg",
        "math",
    ),
    *("foreignObject", "desc", "title", "mi", "annotation-xml", "template", "select", "option", "optgroup", "script"),
    *("style", "noscript", "textarea", "iframe", "frameset", "frame", "html", "head", "body", "base", "meta", "link"),
    *(
        "form",
        "input",
        "button",
        "h1",
        "dd",
        "dt",
        "pre",
        "plaintext",
        "image",
        "nobr",
        "applet",
        "marquee",
        "br",
        "hr",
    ),
)
_ATTRIBUTES: Final = (
    *(" href=x", " href='../y#z'", ' href="//h/"', " rel=next", " xlink:href=q", " content='0;url=z'", " name=robots"),
    *(
        " itemscope",
        " itemprop=n",
        " type=hidden",
        " http-equiv=refresh",
        " lang=de",
        " colspan=99",
        " shadowrootmode=open",
    ),
    *(" encoding=text/html", " x=&amp;", " y='<", " class=a", " href", " charset=utf-16", ' src="data:,"', " \0=\0"),
)
_TEXTS: Final = (
    *(
        "word ",
        "\0",
        "&",
        "&amp",
        "&#x110000;",
        "&NotEqualTilde;",
        "<",
        ">",
        "<!--",
        "-->",
        "<![CDATA[",
        "]]>",
        "<!doctype",
    ),
    *("\U0001f600", "\xa0", "\r\n", "</", "<?", "\ud7ff", "\ufffe", "'", '"', "{}", "::", '{"@graph": [{"a": [1]}]}'),
)


def made_up(dice: random.Random) -> bytes:
    parts: list[str] = []
    for _ in range(dice.randrange(1, 400)):
        kind = dice.random()
        if kind < 0.5:
            attributes = "".join(dice.choices(_ATTRIBUTES, k=dice.randrange(3)))
            parts.append(f"<{dice.choice(_TAGS)}{attributes}{dice.choice(('>', '>', '>', '/>', ''))}")
        elif kind < 0.75:
            parts.append(f"</{dice.choice(_TAGS)}>")
        else:
            parts.append(dice.choice(_TEXTS) * dice.choice((1, 1, 1, 50)))
    return "".join(parts).encode("utf-8", "surrogatepass")


def mutated(dice: random.Random, documents: list[bytes]) -> bytes:
    body = bytearray(dice.choice(documents))
    for _ in range(dice.randrange(1, 20)):
        at = dice.randrange(len(body) + 1)
        match dice.randrange(5):
            case 0:
                body[at : at + dice.randrange(200)] = b""
            case 1:
                body[at:at] = dice.randbytes(dice.randrange(20))
            case 2:
                body[at:at] = made_up(dice)[:300]
            case 3:
                start = dice.randrange(len(body) + 1)
                body[at:at] = body[start : start + dice.randrange(2_000)] * dice.choice((1, 1, 1, 20))
            case _:
                other = dice.choice(documents)
                start = dice.randrange(len(other) + 1)
                body[at:at] = other[start : start + dice.randrange(2_000)]
    return bytes(body[:300_000])


def read_all(reader: Html, body: bytes) -> None:
    url = parse("http://a.test/dir/page?x#y")
    assert url is not None
    reader.read(body, url, "text/html", "")
    page = Page(RawPage("http://a.test/dir/page", 200, {}, body, "text/html"))
    # Not `markdown`: turbohtml 1.15.4 crashes in it now and then (docs/adr/0017-one-html-reader.md).
    _ = (page.title, page.text, page.main_text, page.json_ld, page.microdata, page.links, page.base)
    page.css("a[href], p:nth-child(2n), :not(td) > b").texts  # noqa: B018
    page.css("p::text").exacts  # noqa: B018
    page.xpath("//a/@href | //p[b]/text()").texts  # noqa: B018


def child(seed: int, documents: list[bytes], document: Path) -> int:
    dice, reader = random.Random(seed), Html(Reading(requisites=True))  # noqa: S311
    for _ in range(_BATCH):
        body = made_up(dice) if dice.random() < 0.5 else mutated(dice, documents)
        document.write_bytes(body)
        begun_s = time.process_time()
        try:
            read_all(reader, body)
        except Exception:  # noqa: BLE001
            traceback.print_exc()
            return 1
        if time.process_time() - begun_s > _MOST_S or peak_kb() > _MOST_KB:
            sys.stderr.write(f"{time.process_time() - begun_s:.2f} s, {peak_kb():,} KB\n")
            return 1
    return 0


def main() -> int:
    minutes, seed = float(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 1
    folder = Path("/usr/share/doc")
    paths = sorted(path for path in folder.rglob("*.html") if path.is_file() and 200 < path.stat().st_size < 60_000)
    documents = [path.read_bytes() for path in random.Random(seed).sample(paths, min(300, len(paths)))]  # noqa: S311
    documents = documents or [b"<title>t</title><p>a <a href=x>b</a>" * 20]
    FINDS.mkdir(exist_ok=True)
    until_s, batch, finds = time.monotonic() + minutes * 60, 0, 0
    while time.monotonic() < until_s:
        batch += 1
        document = FINDS / f"{seed}-{batch}.html"
        pid = os.fork()
        if pid == 0:
            signal.alarm(600)
            os._exit(child(seed * 1_000_003 + batch, documents, document))
        _, status = os.waitpid(pid, 0)
        if status == 0:
            document.unlink()
        else:
            finds += 1
            sys.stdout.write(f"batch {batch}: status {status}, kept as {document}\n")
    sys.stdout.write(f"{batch * _BATCH:,} documents in {minutes:g} minutes, {finds} finds\n")
    return 1 if finds else 0


if __name__ == "__main__":
    sys.exit(main())
