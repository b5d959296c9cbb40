"""The job that a crawl directory keeps: what was given, and where each value came from."""

import re
from pathlib import Path
from typing import Final

import msgspec

from whimbrel.job.options import JOB_FILE, Given, combined, read_job

_SECTION: Final = re.compile(r"\[set\.(.+)\]")
_LINE: Final = re.compile(r"(\S+) = .*  # origin: (.*)")


def stored_job(directory: Path) -> Given:
    """The job of a crawl, with the origins of its values as far as they were kept."""
    path = directory / JOB_FILE
    given = combined([(JOB_FILE, read_job(path))])
    origins = dict(given.origins)
    section = ""
    for line in path.read_text(encoding="utf-8").splitlines():
        opened, kept = _SECTION.fullmatch(line), _LINE.fullmatch(line)
        if opened is not None:
            section = f"set.{opened[1]}."
        elif kept is not None and section + kept[1] in origins:
            origins[section + kept[1]] = kept[2]
    return msgspec.structs.replace(given, origins=origins)
