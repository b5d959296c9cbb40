"""Tails of the facts: frames as they stand, and one frame with a check sum that fits around changed contents."""

from pathlib import Path
from typing import Final

from tests.fuzz.api import CORPUS, Target
from tests.fuzz.target.folder import in_folder
from whimbrel.facts.api import TABLES, FactsDamaged
from whimbrel.facts.check import check_tail
from whimbrel.facts.frame import frame
from whimbrel.facts.read import read_columns

_NAME: Final = "facts/tail-000001"
_SEED: Final = (CORPUS / "tail" / "seed").read_bytes()


def read(folder: Path, data: bytes) -> None:
    rows = _rows(folder, data)
    if len(data) == len(_SEED) and rows is not None:
        assert data == _SEED, "a changed byte was not noticed"
    # As it would be if the bytes had been written like this. Arrow says whatever it likes of them, but not silently.
    _rows(folder, b"".join(bytes(part) for part in frame(1, [data])))


def _rows(folder: Path, data: bytes) -> int | None:
    """How many there are; None when the damage is noticed."""
    path = folder / _NAME
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(data)
    count = 0
    try:
        check_tail(path, _NAME, len(data), 9)
        for table in ("captures", "fetches"):
            columns = [name for name, _ in TABLES[table]][:6]
            for batch in read_columns(folder, table, columns, {_NAME: len(data)}, []):
                count += batch.num_rows
    except FactsDamaged:
        return None
    return count


TARGET: Final = Target(
    "tail",
    in_folder(read),
    (
        b"WhimFct1",
        b"captures",
        b"fetches",
        b'["links",8]',
        b"\xff\xff\xff\xff",
        b"\xff\xff\xff\x7f",
        b"\0\0\0\0\0\0\0\x80",
    ),
    quick_inputs=5_000,
)
