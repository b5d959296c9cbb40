"""SimHash (Charikar 2002): 64 bits for a text, of which nearly equal texts share nearly all.

The features of a text are pieces of eight bytes, about a word and a half, upper and lower case alike. Each different
one votes on all 64 bits by its own hash, and the majority decides. Only one piece in 64 has a vote. Which ones depends
on their first three bytes alone: nearly equal texts choose nearly the same, wherever they stand, and a change that no
chosen piece covers does not show. Languages that write no spaces need nothing of their own.

Two texts of which a share *f* of the features differs are about 64 · √(2f) / π bits apart: 2 bits for half a per cent,
6 for five. Three is the usual bound for "nearly equal" (Manku, Jain and Das Sarma 2007).

NumPy looks at all bytes of several texts at once. A text of 25 KB costs about 30 µs, one of 4 KB 8.
"""

from collections.abc import Iterator, Sequence
from itertools import accumulate, pairwise
from typing import Final

import numpy as np
import numpy.typing as npt

FEWEST_FEATURES: Final = 8
"""With less than that, a text of about 500 bytes, the bits say nothing."""

_PIECE_BYTES: Final = 8
_GAP_BYTES: Final = _PIECE_BYTES
"""Blanks after each text, so that no piece reaches into the next."""
_BATCH_BYTES: Final = 600_000
"""Texts that are looked at together. More leave the processor's cache, fewer waste calls."""
_BATCH_TEXTS: Final = 64
_OWNER_SHIFT: Final = np.uint64(58)
_LOWER: Final = np.uint8(0x20)
_FACTORS: Final = (np.uint8(173), np.uint8(59), np.uint8(29))
"""For the three bytes whose sum decides."""
_CHOSEN: Final = np.uint8(251)
"""Of 256 sums the 4 above: one in 64. A gap can have none of them: there sums are multiples of 32."""
_BITS: Final = np.arange(8, dtype=np.uint64)[:, None]
_LOWEST_BITS: Final = np.uint64(0x0101010101010101)
_LANE_MOST: Final = 255
"""Votes that fit into the eight bits which a sum has for each bit of the hash."""

_Hashes = npt.NDArray[np.uint64]


def simhashes(texts: Sequence[str]) -> list[int | None]:
    """One for each text; None for one that is too short."""
    found: list[int | None] = []
    space = _Space()
    for batch in _batches(texts):
        found += _simhashes(batch, space)
    return found


def _batches(texts: Sequence[str]) -> Iterator[list[bytes]]:
    batch: list[bytes] = []
    size = 0
    for text in texts:
        data = text.encode("utf-8", "replace")
        if batch and (size + len(data) + _GAP_BYTES > _BATCH_BYTES or len(batch) == _BATCH_TEXTS):
            yield batch
            batch, size = [], 0
        batch.append(data)
        size += len(data) + _GAP_BYTES
    if batch:
        yield batch


class _Space:
    """Arrays that all batches use. Fresh ones of this size would come from the kernel each time, page by page."""

    def __init__(self) -> None:
        self._arrays = np.zeros((3, 0), np.uint8)

    def of(self, size: int) -> npt.NDArray[np.uint8]:
        if self._arrays.shape[1] < size:
            self._arrays = np.zeros((3, max(size, _BATCH_BYTES)), np.uint8)
        return self._arrays[:, :size]


def _simhashes(texts: list[bytes], space: _Space) -> list[int | None]:
    features = _features(texts, space)
    owners = np.arange(len(texts), dtype=np.uint64) << _OWNER_SHIFT
    borders = [*np.searchsorted(features, owners).tolist(), len(features)]
    votes = _votes(_mixed(features << np.uint64(6)), borders)
    counts = np.diff(borders)
    bits = np.packbits(2 * votes > counts[:, None], axis=1, bitorder="little").view(np.uint64)[:, 0].tolist()
    return [bit if count >= FEWEST_FEATURES else None for bit, count in zip(bits, counts.tolist(), strict=True)]


def _features(texts: list[bytes], space: _Space) -> _Hashes:
    """The different features of each text, in order: six bits for the number of the text, 58 of the piece."""
    ends = list(accumulate(len(text) + _GAP_BYTES for text in texts))
    borders = [
        border
        for end, text in zip(ends, texts, strict=True)
        for border in (end - _GAP_BYTES - len(text), end - _GAP_BYTES)
    ]
    raw, sums, more = space.of(ends[-1])
    for text, begin, end in zip(texts, borders[::2], borders[1::2], strict=True):
        if text:
            np.bitwise_or(np.frombuffer(text, np.uint8), _LOWER, out=raw[begin:end])
        raw[end : end + _GAP_BYTES] = _LOWER
    np.multiply(raw, _FACTORS[0], out=sums)
    for at, factor in enumerate(_FACTORS[1:], 1):
        np.multiply(raw[at:], factor, out=more[at:])
        np.bitwise_xor(sums[:-at], more[at:], out=sums[:-at])
    chosen = np.flatnonzero(np.greater(sums, _CHOSEN, out=more.view(bool)))
    cuts = np.searchsorted(chosen, borders).tolist()
    # What begins in the gap after a text does not count.
    own = [chosen[begin:end] for begin, end in zip(cuts[::2], cuts[1::2], strict=True)]
    pieces: _Hashes = np.ndarray((len(raw) - _PIECE_BYTES + 1,), np.uint64, raw.data, strides=(1,))
    keys = _mixed(pieces[np.concatenate(own)]) >> np.uint64(6)
    keys |= np.repeat(np.arange(len(texts), dtype=np.uint64) << _OWNER_SHIFT, list(map(len, own)))
    keys.sort()
    different = np.ones(len(keys), bool)
    np.not_equal(keys[1:], keys[:-1], out=different[1:])
    return keys[different]


def _mixed(values: _Hashes) -> _Hashes:
    """Each bit of the outcome depends on all of the value (the finisher of SplitMix64)."""
    values = values ^ (values >> np.uint64(30))
    values *= np.uint64(0xBF58476D1CE4E5B9)
    values ^= values >> np.uint64(27)
    values *= np.uint64(0x94D049BB133111EB)
    values ^= values >> np.uint64(31)
    return values


def _votes(hashes: _Hashes, borders: list[int]) -> npt.NDArray[np.int64]:
    """For each text how many of its features have each bit. A sum holds eight bits of the hash side by side."""
    votes = np.zeros((len(borders) - 1, 64), np.int64)
    texts: list[int] = []
    firsts: list[int] = []
    runs: list[int] = []
    for text, (begin, end) in enumerate(pairwise(borders)):
        if begin < end:
            texts.append(text)
            firsts.append(len(runs))
            runs += range(begin, end, _LANE_MOST)
    if runs:
        sums = np.add.reduceat((hashes >> _BITS) & _LOWEST_BITS, runs, axis=1)
        # From (bit in byte, run, byte) to (run, 8 * byte + bit in byte).
        by_run = sums.view(np.uint8).reshape(8, len(runs), 8).transpose(1, 2, 0).reshape(len(runs), 64)
        votes[texts] = np.add.reduceat(by_run, firsts, axis=0, dtype=np.int64)
    return votes
