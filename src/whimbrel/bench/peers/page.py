"""The pages of a corpus: words of a topic with links between them, all drawn from a host's number and a page's.

Pages name no style, script or image, which some peers fetch and others do not: what is compared is pages.
"""

from typing import Final

from whimbrel.bench.peers.api import HTTP_PORT, HTTPS_PORT, CorpusSpec
from whimbrel.simweb.dice import Dice
from whimbrel.simweb.page import CHILDREN, path
from whimbrel.simweb.topic import COMMON, TOPIC_NAMES, VOCABULARY

HOSTS_PER_DOMAIN: Final = 4
"""So that a wildcard certificate covers a domain, and no domain has all hosts."""
_SEED: Final = 1
_BLOCKS: Final = 256
_BLOCK_WORDS: Final = 82
_FRAME_BYTES: Final = 320
_LINK_BYTES: Final = 55
_MAX_BYTES: Final = 4_000_000
_OUTER_SHARE: Final = 0.1
_U32: Final = 2**32


def host_name(number: int) -> str:
    return f"h{number}.{domain(number)}"


def domain(number: int) -> str:
    return f"s{number // HOSTS_PER_DOMAIN}.test"


def origin(spec: CorpusSpec, number: int) -> str:
    return f"{spec.scheme}://{host_name(number)}:{HTTPS_PORT if spec.scheme == 'https' else HTTP_PORT}"


class CorpusPageWriter:
    def __init__(self, spec: CorpusSpec) -> None:
        self._spec = spec
        self._dice = Dice(_SEED)
        self._blocks = [self._block(number) for number in range(_BLOCKS)]
        self._block_bytes = sum(map(len, self._blocks)) / _BLOCKS
        self._outer = round(spec.links * _OUTER_SHARE) if min(spec.neighbours, spec.hosts) > 1 else 0

    def path(self, page: int) -> str:
        return path(page)

    def body(self, host: int, page: int) -> bytes:
        size_draw, *draws = self._dice.draws(self._spec.links + 65, b"peers page", host, page)
        links = self._links(host, page, draws[64:])
        count = max(1, round((self._size(size_draw) - _FRAME_BYTES - len(links) * _LINK_BYTES) / self._block_bytes))
        # Long pages use the draws again; the step makes other blocks of them, so that no stretch compresses to nothing.
        texts = [self._blocks[(draws[at % 64] + at * 7) % _BLOCKS] for at in range(count)]
        title = f"Page {page} of {host_name(host)}"
        parts = ['<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<title>', title]
        parts += ["</title>\n</head>\n<body>\n<h1>", title, "</h1>\n"]
        for at in range(max(len(texts), len(links))):
            parts.append(f"<p>{texts[at] if at < len(texts) else ''}{links[at] if at < len(links) else ''}</p>\n")
        parts.append(f"<footer>{size_draw:08x}</footer>\n</body>\n</html>\n")
        return "".join(parts).encode("ascii")

    def _block(self, number: int) -> str:
        own = VOCABULARY[TOPIC_NAMES[number % len(TOPIC_NAMES)]]
        draws = self._dice.draws(_BLOCK_WORDS, b"peers block", number)
        words = [own[(d >> 8) % len(own)] if d & 3 == 0 else COMMON[(d >> 8) % len(COMMON)] for d in draws]
        return " ".join(words).capitalize() + ". "

    def _size(self, draw: int) -> int:
        """Where there is a tail, Pareto with exponent 1.3: one page in 300 is more than 50 times the median."""
        if not self._spec.has_tail:
            return self._spec.page_bytes
        return min(_MAX_BYTES, int(self._spec.page_bytes * 0.5867 / (1 - draw / _U32) ** (1 / 1.3)))

    def _links(self, host: int, page: int, draws: list[int]) -> list[str]:
        """Its children in a tree, popular pages of its host, and roots of other hosts of its neighbourhood."""
        spec = self._spec
        first = host - host % spec.neighbours
        among = min(spec.neighbours, spec.hosts - first)
        links = [f'<a href="{origin(spec, first + draw % among)}/">site</a>' for draw in draws[: self._outer]]
        inner = list(range(page * CHILDREN + 1, min(page * CHILDREN + 1 + CHILDREN, spec.pages)))
        wanted = spec.links - self._outer - len(inner)
        inner += [int((draw / _U32) ** 3 * spec.pages) for draw in draws[self._outer : self._outer + wanted]]
        return links + [f'<a href="{path(to)}">page {to}</a>' for to in inner]
