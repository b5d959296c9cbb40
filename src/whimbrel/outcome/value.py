"""How a visit ends. The words are a contract: tables, `whimbrel why` and the simulated web's truth use them.

Every visit has one outcome and a reason; every URL has exactly one final outcome per schedule.
"""

from enum import StrEnum
from typing import Final


class Outcome(StrEnum):
    STORED = "stored"
    """The page is in the archive."""
    UNCHANGED = "unchanged"
    """The server says that it has not changed, or it has brought the same bytes as before."""
    DUPLICATE = "duplicate"
    """Another URL has brought the same payload."""
    REDIRECTED = "redirected"
    """The server sent us to another URL, which has a visit of its own if scope and filters let it."""
    DENIED = "denied"
    """robots.txt forbids it, or could not be obtained; or the user blocks it."""
    GONE = "gone"
    """404 or 410."""
    FAILED = "failed"
    """No usable answer after all tries."""
    DROPPED = "dropped"
    """A limit or a trap rule cut it before it was visited."""
    RETRY = "retry"
    """To be visited again; never final."""


CONTENT: Final = (Outcome.STORED, Outcome.DUPLICATE)
"""Outcomes of visits that brought a document: their captures have content, and their URLs are pages."""
