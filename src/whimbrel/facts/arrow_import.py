"""pyarrow without pandas, in processes that have no use for it.

Where pandas is installed, pyarrow imports it as soon as it makes an array of a list: 0.25 s of CPU time and 54 MB, for
nothing, in every crawl. It asks once per process and remembers the answer, so it is asked while pandas is away. From
then on `to_pandas` fails; only who owns the whole process may decide that, which is the command line.
"""

import sys

_lean = False


def be_lean() -> None:
    """This process will never turn Arrow into pandas."""
    global _lean  # noqa: PLW0603 - of the process, as pyarrow's own memory of it is
    _lean = True


class _Away:
    """A finder that says there is no pandas."""

    def find_spec(self, name: str, *_: object) -> None:
        if name == "pandas":
            raise ModuleNotFoundError("kept away by whimbrel.facts.arrow_import", name=name)


def load_arrow() -> None:
    """To be called before the first array is made; later it does nothing."""
    global _lean  # noqa: PLW0603
    if not _lean or "pandas" in sys.modules:
        return
    _lean = False
    away = _Away()
    sys.meta_path.insert(0, away)
    try:
        import pyarrow as pa

        pa.array([""])
    finally:
        sys.meta_path.remove(away)
