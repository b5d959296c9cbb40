"""Rows for tests: plain ones by number, and strategies for odd ones."""

from typing import Any

from hypothesis import strategies as st

from whimbrel.facts.api import TABLES
from whimbrel.facts.links import PageLinks

KEYS = st.integers(0, 2**64 - 1)
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)

_VALUES: dict[str, st.SearchStrategy[Any]] = {
    "key": KEYS,
    "string": st.none() | TEXTS,
    "int16": st.none() | st.integers(-(2**15), 2**15 - 1),
    "int32": st.none() | st.integers(-(2**31), 2**31 - 1),
    "int64": st.none() | st.integers(-(2**63), 2**63 - 1),
    "float": st.none() | st.floats(allow_nan=False),
    "time": st.none() | st.integers(0, 2**32).map(float),
}


def rows_of(table: str) -> st.SearchStrategy[list[tuple[Any, ...]]]:
    return st.lists(st.tuples(*(_VALUES[kind] for _, kind in TABLES[table])), max_size=4)


@st.composite
def page_links(draw: st.DrawFn) -> PageLinks:
    count = draw(st.integers(0, 4))
    keys = draw(st.lists(KEYS, min_size=count, max_size=count))
    texts = [draw(st.lists(TEXTS, min_size=count, max_size=count)) for _ in range(4)]
    return PageLinks(draw(KEYS), draw(KEYS), draw(TEXTS), keys, *texts)


def capture(number: int, text: str = "words") -> tuple[Any, ...]:
    url = f"https://a.example/{number}"
    values = {"capture_id": number + 1_000, "id": number, "url": url, "host": "a.example", "outcome": "stored"}
    values |= {"status": 200, "fetched_at": 1.7e9 + number, "text": text}
    return tuple(values.get(name, 0 if kind == "key" else None) for name, kind in TABLES["captures"])


def host(name: str, fetched: int) -> tuple[Any, ...]:
    values = {"site": f"https://{name}:443", "host": name, "fetched": fetched}
    return tuple(values.get(column) for column, _ in TABLES["hosts"])


def links(number: int, count: int = 3) -> PageLinks:
    targets = [f"https://b.example/{number}/{at}" for at in range(count)]
    same = ["a"] * count
    keys = list(range(count))
    return PageLinks(1_000 + number, number, f"https://a.example/{number}", keys, targets, targets, [""] * count, same)


def flat(rows: "list[tuple[Any, ...] | PageLinks]") -> list[tuple[Any, ...]]:
    """Links as one tuple each."""
    found: list[tuple[Any, ...]] = []
    for row in rows:
        if isinstance(row, PageLinks):
            ends = zip(row.target_keys, row.targets, row.anchors, row.rels, row.kinds, strict=True)
            found += [(row.capture_id, row.source_key, key, row.source, *rest) for key, *rest in ends]
        else:
            found.append(row)
    return found
