"""What was decided about a visit when its answer was read."""

import msgspec

from whimbrel.outcome.value import Outcome
from whimbrel.url import Url


class Verdict(msgspec.Struct, frozen=True, gc=False):
    outcome: Outcome
    reason: str
    passing: bool = False
    """The failure may be gone at another try; whether there is one is for the retry policy to say."""
    retry_after_s: float = 0.0
    """What the server asked us to wait; 0 when it did not."""
    target: Url | None = None
    """Where a redirect leads; None when it leads to what is no web URL, such as `mailto:`, and so nowhere."""
    comparable: bool = False
    """The document is long enough to be called a duplicate of another, or another of it."""
