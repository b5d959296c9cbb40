"""The web platform's own test data: https://github.com/web-platform-tests/wpt, url/resources/urltestdata.json."""

from pathlib import Path
from typing import Final

import msgspec
import pytest

from whimbrel.url import Joiner, parse, resolve

DATA: Final = Path(__file__).parents[3] / "shared" / "corpora" / "urltestdata.json"

DEVIATIONS: Final = {
    (f"http://{label}.{prefix}pokxncvks", "about:blank"): "ada-url 4.0 lets Punycode pass that overflows; no DNS has it"
    for label, prefix in (
        *(("a.b.c", prefix) for prefix in ("xn--", "Xn--", "XN--")),
        *(("10.0.0", prefix) for prefix in ("xn--", "xN--", "XN--")),
    )
}
"""Input and base of each case that we answer otherwise, and why."""


class Case(msgspec.Struct, frozen=True):
    """Text that is not quite Unicode is written with escapes in the file, so it is read as JSON says."""

    input: str
    base: str | None = None
    href: str = ""
    failure: bool = False

    @property
    def expected(self) -> str | None:
        """The URL as a crawler asks for it: http or https, without credentials and fragment."""
        scheme, mark, rest = self.href.partition("://")
        if self.failure or not mark or scheme not in ("http", "https"):
            return None
        authority, slash, target = rest.partition("#")[0].partition("/")
        return f"{scheme}://{authority.rpartition('@')[2]}{slash}{target}"


@pytest.fixture(scope="module")
def cases() -> list[Case]:
    if not DATA.exists():
        pytest.skip(f"{DATA.name} of the web platform tests is not beside the repository")
    lines = msgspec.json.decode(DATA.read_bytes(), type=list[Case | str])
    return [line for line in lines if isinstance(line, Case)]


def _found(case: Case) -> str | None:
    base = parse(case.base) if case.base is not None else None
    # A document always has an http base; without one only absolute URLs mean something.
    url = parse(case.input) if base is None else resolve(base, case.input)
    return None if url is None else url.text


def test_the_standard_is_kept_but_for_the_listed_deviations(cases: list[Case]) -> None:
    assert len(cases) > 500
    assert len(DEVIATIONS) <= len(cases) / 100
    wrong = {(case.input, case.base): (_found(case), case.expected) for case in cases if _found(case) != case.expected}
    assert wrong.keys() == DEVIATIONS.keys(), wrong


def test_a_joiner_gives_the_same(cases: list[Case]) -> None:
    for case in cases:
        base = parse(case.base) if case.base is not None else None
        if base is not None:
            assert Joiner(base).join(case.input) == _found(case), case
