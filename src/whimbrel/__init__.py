"""Whimbrel: a parallel, distributed, migrating web crawler."""

import os
from typing import TYPE_CHECKING

from whimbrel.version import __version__

if TYPE_CHECKING:
    from whimbrel.query.opened import Opened

__all__ = ["__version__", "open"]


def open(*directories: "str | os.PathLike[str]") -> "Opened":  # noqa: A001 - whimbrel.open, as in gzip.open
    """Open crawls for questions, running or not: `whimbrel.open("out").sql("select count(*) from pages")`.

    NotACrawl when a directory holds none.
    """
    from pathlib import Path

    from whimbrel.query.opened import Opened

    if not directories:
        raise TypeError("open() needs at least one directory")
    return Opened([Path(directory) for directory in directories])
