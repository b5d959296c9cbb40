"""A picture of the figures: a bar per peer, CPU per page on a logarithmic scale."""

import math
from html import escape
from typing import Final

from whimbrel.bench.peers.report import OWN, PeerRow

_WIDTH: Final = 720
_LEFT: Final = 130
_RIGHT: Final = 190
_BAR: Final = 22
_STEP: Final = 30
_HEAD: Final = 44


def plot(table: list[PeerRow]) -> str:
    """SVG, one panel per corpus. Peers without a figure are left out."""
    shown = [(row, row.cpu_ms_per_page) for row in table if row.cpu_ms_per_page]
    corpora = list(dict.fromkeys(row.corpus for row, _ in shown))
    parts, top = [], 8
    for corpus in corpora:
        bars = sorted(((row, cpu) for row, cpu in shown if row.corpus == corpus), key=lambda pair: pair[1])
        parts += _panel(corpus, bars, top)
        top += _HEAD + len(bars) * _STEP + 16
    head = f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{top}" viewBox="0 0 {_WIDTH} {top}" '
    style = 'font-family="sans-serif" font-size="13">'
    return "\n".join([head + style, f'<rect width="{_WIDTH}" height="{top}" fill="#fff"/>', *parts, "</svg>\n"])


def _panel(corpus: str, bars: list[tuple[PeerRow, float]], top: int) -> list[str]:
    # A bar's foot is the power of ten below the least figure: a logarithmic scale has no zero.
    least = math.floor(math.log10(bars[0][1] * 0.999))
    most = max(least + 1, math.ceil(math.log10(bars[-1][1])))
    per_decade = (_WIDTH - _LEFT - _RIGHT) / (most - least)
    bottom = top + _HEAD + len(bars) * _STEP
    parts = [f'<text x="8" y="{top + 14}" font-weight="bold">{escape(corpus)}: CPU ms per page</text>']
    for power in range(least, most + 1):
        x = _LEFT + (power - least) * per_decade
        parts.append(f'<line x1="{x:.1f}" y1="{top + 36}" x2="{x:.1f}" y2="{bottom}" stroke="#ccc"/>')
        parts.append(f'<text x="{x:.1f}" y="{top + 32}" text-anchor="middle" fill="#666">{10.0**power:g}</text>')
    for at, (row, cpu) in enumerate(bars):
        y, length = top + _HEAD + at * _STEP, (math.log10(cpu) - least) * per_decade
        colour = "#b5532a" if row.peer == OWN else "#7c93a8"
        ratio = "" if row.ratio is None or row.peer == OWN else f", {row.ratio:.2g} × Whimbrel"
        parts += [
            f'<text x="{_LEFT - 8}" y="{y + 16}" text-anchor="end">{escape(f"{row.peer} {row.version}")}</text>',
            f'<rect x="{_LEFT}" y="{y}" width="{length:.1f}" height="{_BAR}" fill="{colour}"/>',
            f'<text x="{_LEFT + length + 6:.1f}" y="{y + 16}">{cpu:.2f}{ratio}</text>',
        ]
    return parts
