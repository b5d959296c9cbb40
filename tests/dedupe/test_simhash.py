"""SimHash: nearly equal texts have nearly equal bits, whatever they are computed with."""

from itertools import combinations
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whimbrel.dedupe.simhash import simhashes

ENGLISH = [
    f"{a}{b}{c}" for a in ("str", "pl", "c", "m") for b in ("ea", "o", "i", "u") for c in ("ng", "te", "ss", "m")
]
CHINESE = [chr(0x4E00 + at) for at in range(0, 2000, 7)]


def text(seed: int, words: list[str], count: int, between: str = " ") -> str:
    return between.join(Random(seed).choices(words, k=count))  # noqa: S311


def distance(one: str, other: str) -> int:
    first, second = simhashes([one, other])
    assert first is not None
    assert second is not None
    return (first ^ second).bit_count()


@pytest.mark.parametrize(("words", "between", "count"), [(ENGLISH, " ", 2_000), (CHINESE, "", 3_000)], ids=["en", "zh"])
def test_a_changed_word_changes_few_bits_and_another_text_many(words: list[str], between: str, count: int) -> None:
    changed, far = [], []
    for seed in range(40):
        one = text(seed, words, count, between)
        middle = len(one) // 2
        changed.append(distance(one, f"{one[:middle]}{between}{words[seed]}{between}{one[middle:]}"))
        far.append(distance(one, text(1_000 + seed, words, count, between)))
    assert sum(bits <= 3 for bits in changed) >= 34
    assert min(far) > 3
    assert sum(far) / len(far) > 12


def test_where_a_text_stands_and_its_case_do_not_matter() -> None:
    one = text(1, ENGLISH, 1_000)
    assert distance(one, one.upper()) == 0
    assert distance(one, "Menu Home About " + one) <= 6


def test_a_phrase_that_is_repeated_does_not_decide() -> None:
    hashes = simhashes([text(seed, ENGLISH, 400) + " add this to your basket " * 300 for seed in range(20)])
    assert all((one ^ other).bit_count() > 3 for one, other in combinations([hash_ or 0 for hash_ in hashes], 2))


def test_a_short_text_has_none() -> None:
    assert simhashes(["", "a few words", "\0" * 10_000]) == [None, None, None]


@given(st.lists(st.text(max_size=40).map(lambda part: part * 30), max_size=12))
def test_texts_do_not_depend_on_those_beside_them(texts: list[str]) -> None:
    assert simhashes(texts) == [simhashes([one])[0] for one in texts]


def test_large_and_many_texts_are_split() -> None:
    texts = [text(seed, ENGLISH, 50 + seed * 40) for seed in range(150)] + [text(7, ENGLISH, 300_000)]
    assert simhashes(texts) == [simhashes([one])[0] for one in texts]
