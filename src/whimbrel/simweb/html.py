"""The bytes of ordinary pages. This is simweb's hot path: one page must cost well under 100 µs.

Text comes from blocks written once per topic; a page is a choice of blocks with its links between them.
"""

from email.utils import formatdate
from functools import lru_cache
from typing import Final

from whimbrel.simweb.answer import Reply
from whimbrel.simweb.dice import Dice
from whimbrel.simweb.host import SimHost, SimHosts
from whimbrel.simweb.page import SECTIONS, TEXT_DRAWS, Pages, SimPage, path
from whimbrel.simweb.spec import WebSpec
from whimbrel.simweb.topic import COMMON, TOPIC_NAMES, VOCABULARY

_BLOCKS: Final = 64
_BLOCK_WORDS: Final = 82
_LINK_BYTES: Final = 41
_FRAME_BYTES: Final = 900
_MAX_BYTES: Final = 4_000_000
_WORD_DRAWS: Final = 4
_READY: Final = 4096
_SECTIONS: Final = tuple(section.encode() for section in SECTIONS)

_HEAD: Final = b"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>%b</title>
<meta name="description" content="%b">
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="stylesheet" href="/static/%d.css">
<script src="/static/%d.js" defer></script>
</head>
<body>
<header><h1>%b</h1><img src="/static/%d.png" alt="%b" width="16" height="16"></header>
<main data-topic="%b">
<p class="version">Edition %d: %b.</p>
"""
_FOOT: Final = b"</main>\n<footer><p>Page %d of %d.</p></footer>\n</body>\n</html>\n"
_WORDS: Final = {topic: tuple(word.encode() for word in words) for topic, words in VOCABULARY.items()}


@lru_cache(maxsize=4096)
def http_date(second: int) -> str:
    return formatdate(second, usegmt=True)


def _inner_link(topic: str, to: int) -> bytes:
    """A link to a page of the same host; it closes the paragraph it stands in."""
    if to == 0:
        return b'<a href="/">home</a></p>\n'
    words = _WORDS[topic]
    return b'<a href="/%b/%d.html">%b</a></p>\n' % (_SECTIONS[to % len(_SECTIONS)], to, words[to % len(words)])


@lru_cache(maxsize=len(TOPIC_NAMES))
def _ready_links(topic: str) -> list[bytes]:
    """Links to the first pages of a host of that topic: a look-up costs a tenth of the formatting."""
    return [_inner_link(topic, to) for to in range(_READY)]


class PageWriter:
    def __init__(self, spec: WebSpec, hosts: SimHosts, pages: Pages) -> None:
        self._spec = spec
        self._hosts = hosts
        self._pages = pages
        self._dice = Dice(spec.seed)
        self._blocks = {topic: self._topic_blocks(at, topic) for at, topic in enumerate(TOPIC_NAMES)}
        sizes = [len(block) for blocks in self._blocks.values() for block in blocks]
        self._block_bytes = sum(sizes) / len(sizes)

    def _topic_blocks(self, at: int, topic: str) -> list[bytes]:
        """Paragraph openings, one word in four of them the topic's own."""
        own, blocks = VOCABULARY[topic], []
        for block in range(_BLOCKS):
            draws = self._dice.draws(_BLOCK_WORDS, b"block", at, block)
            words = [own[(d >> 8) % len(own)] if d & 3 == 0 else COMMON[(d >> 8) % len(COMMON)] for d in draws]
            words[0] = words[0].capitalize()
            blocks.append(f"<p>{' '.join(words)} ".encode())
        return blocks

    def reply(self, host: SimHost, number: int, now_s: float) -> Reply:
        """The page with its validators, as it stands at that time."""
        page = self._pages.get(host, number)
        version, changed_s = self._pages.version(page, now_s)
        tick = self._pages.volatile_tick(page, now_s)
        mark = ""
        if tick is not None:
            mark = f"-{tick:x}"
            changed_s = max(changed_s, self._spec.epoch_s + tick * self._spec.volatile_s)
        headers = (
            ("Content-Type", "text/html; charset=utf-8"),
            ("ETag", f'"{host.content:x}-{number:x}-{version:x}{mark}"'),
            ("Last-Modified", http_date(int(changed_s))),
        )
        return Reply(200, headers, self._body(host, page, version, tick))

    def _body(self, host: SimHost, page: SimPage, version: int, tick: int | None) -> bytes:
        links = self._links(host, page)
        parts = [self._head(host, page, version, tick)]
        texts = self._texts(host, page, len(links))
        # Each text is an open paragraph and each link closes one.
        paired = min(len(texts), len(links))
        middle = [b""] * (2 * paired)
        middle[::2] = texts[:paired]
        middle[1::2] = links[:paired]
        parts += middle
        parts += [text + b"</p>\n" for text in texts[paired:]]
        parts += [b"<p>" + link for link in links[paired:]]
        parts.append(_FOOT % (page.number, host.pages))
        return b"".join(parts)

    def _head(self, host: SimHost, page: SimPage, version: int, tick: int | None) -> bytes:
        words = _WORDS[host.topic]
        count = len(words)
        first, second, third, fourth = (words[draw % count] for draw in page.text[:_WORD_DRAWS])
        title = b"%b %b: page %d of site %d" % (first.capitalize(), second, page.number, host.content)
        # A new edition has other words: the version, mixed by an odd constant, walks through the vocabulary.
        said = b" ".join(words[(page.text[at] + version * (2 * at + 7)) % count] for at in range(_WORD_DRAWS))
        about = b"%b, %b and %b" % (second, third, fourth)
        shade = host.content % 8
        head = _HEAD % (title, about, shade, shade, title, shade, third, host.topic.encode(), version, said)
        if tick is not None:
            visitors = (page.text[0] + tick * 2_654_435_761) % 1_000_003
            head += b'<p class="volatile">Visitors so far: <b>%d</b></p>\n' % visitors
        return head

    def _texts(self, host: SimHost, page: SimPage, link_count: int) -> list[bytes]:
        target = self._spec.page_bytes if not self._spec.bytes_tail else self._tail_bytes(page)
        count = round((target - _FRAME_BYTES - link_count * _LINK_BYTES) / self._block_bytes)
        blocks = self._blocks[host.topic]
        texts = [blocks[draw % _BLOCKS] for draw in page.text[_WORD_DRAWS : _WORD_DRAWS + max(0, count)]]
        if count > len(texts):
            texts *= 1 + count // (TEXT_DRAWS - _WORD_DRAWS)
            del texts[count:]
        return texts

    def _tail_bytes(self, page: SimPage) -> int:
        """Pareto with exponent 1.3 whose median is `page_bytes`: one page in a few hundred is over a megabyte."""
        share = page.text[TEXT_DRAWS - 1] / 2**32
        return min(_MAX_BYTES, int(self._spec.page_bytes * 0.5867 / (1 - share) ** (1 / 1.3)))

    def _links(self, host: SimHost, page: SimPage) -> list[bytes]:
        topic, origin = host.topic, self._hosts.origin
        ready = _ready_links(topic)
        if host.pages <= _READY:
            links = list(map(ready.__getitem__, page.inner))
        else:
            links = [ready[to] if to < _READY else _inner_link(topic, to) for to in page.inner]
        links += [
            f'<a href="{origin(to)}{path(there)}" rel="external">site {to}</a></p>\n'.encode()
            for to, there in page.outer
        ]
        links += [f'<a href="/x/{name}/{page.number}">{name}</a></p>\n'.encode() for name in page.exhibits]
        return links
