"""What a target is."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Final

Read = Callable[[bytes], None]
"""Reads one input. Whatever it raises is a finding."""
CORPUS: Final = Path(__file__).parent / "corpus"


@dataclass(frozen=True)
class Target:
    name: str
    opened: Callable[[], AbstractContextManager[Read]]
    """Entered once in each child: servers, event loops and directories are made there."""
    words: tuple[bytes, ...] = ()
    """What inputs of this kind are made of."""
    make_up: Callable[[Random], bytes] | None = None
    """An input from nothing, for kinds with a grammar."""
    more_seeds: Callable[[], list[bytes]] = list
    """Besides those of the corpus."""
    most_bytes: int = 1_000_000
    """Of an input."""
    most_s: float = 2.0
    """CPU time for an input of up to a megabyte."""
    quick_inputs: int = 1_000
    """Changed inputs in the default tests, always the same ones: about a second of them."""
    most_mb: int = 300
    """By which one input may make the process grow."""

    def seeds(self) -> list[bytes]:
        folder = CORPUS / self.name
        return [path.read_bytes() for path in sorted(folder.iterdir())] + self.more_seeds()


def plain(read: Read) -> Callable[[], AbstractContextManager[Read]]:
    """For a target that needs nothing around it."""

    @contextmanager
    def opened() -> Iterator[Read]:
        yield read

    return opened
