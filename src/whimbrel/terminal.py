"""Text for a terminal: whole lines where nobody watches, and nothing that could rewrite the screen."""

import json
import os
import sys
from typing import Any

import msgspec
from rich.console import Console


class PatientConsole(Console):
    """Prints as long as somebody reads. A crawl does not end because nobody does any more (`whimbrel crawl | head`)."""

    def on_broken_pipe(self) -> None:
        """rich would end the process."""
        self.quiet = True
        with open(os.devnull, "w") as nothing:  # noqa: PTH123 - not a path
            os.dup2(nothing.fileno(), sys.stderr.fileno() if self.stderr else sys.stdout.fileno())


def plain_console(*, stderr: bool = False) -> Console:
    """A console whose lines a pipe can be searched for: nothing is wrapped unless a person watches."""
    console = PatientConsole(stderr=stderr)
    return console if console.is_terminal else PatientConsole(stderr=stderr, width=200, soft_wrap=True)


def counted(number: int, noun: str) -> str:
    """`1 host`, `1,000 hosts`."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def size(count: float) -> str:
    """`812 B`, `21.5 kB`, `3.0 GB`."""
    for unit in ("B", "kB", "MB", "GB"):
        if count < 1_000:
            return f"{count:,.0f} {unit}" if unit == "B" else f"{count:,.1f} {unit}"
        count /= 1_000
    return f"{count:,.1f} TB"


def printable(text: str) -> str:
    """What pages and servers say, for a terminal: control characters, and marks that turn the direction of writing, as
    escapes. Otherwise a title could rewrite the screen."""
    if text.isprintable():
        return text
    return "".join(one if one.isprintable() else one.encode("unicode_escape").decode() for one in text)


def json_text(value: Any) -> str:
    """Indented JSON in which such characters are written as JSON's own escapes: the values are the same."""
    text = msgspec.json.format(msgspec.json.encode(value), indent=2).decode()
    return "".join(one if one.isprintable() or one == "\n" else json.dumps(one)[1:-1] for one in text)
