"""Whether a document is a duplicate of another, or has not changed."""

from typing import Final

from whimbrel.outcome.value import Outcome

_LEAST_BYTES: Final = 256


def is_comparable(length: int) -> bool:
    """Whether a document of `length` bytes, once its content codings are taken off, may be called a duplicate. Short
    ones never are: every empty page is like every other."""
    return length >= _LEAST_BYTES


def classify_known_payload(url: str, earlier: str) -> tuple[Outcome, str]:
    """Outcome and reason of a document whose payload another capture, of the URL `earlier`, has brought before. The
    same bytes at the same URL are no duplicate: the page has not changed."""
    return (Outcome.UNCHANGED if earlier == url else Outcome.DUPLICATE), "same-payload"
