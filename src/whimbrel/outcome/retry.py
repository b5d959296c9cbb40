"""Whether a visit that failed is made again, and when."""

import msgspec


class RetryPolicy(msgspec.Struct, frozen=True):
    max_tries: int
    """Visits of one URL, the first included."""
    retry_s: float
    """Before the second try; four times as long before each further one."""

    def wait_s(self, attempt: int, asked_s: float) -> float | None:
        """The seconds until the try after the one of this number, `asked_s` at least; None when it was the last."""
        if attempt >= self.max_tries:
            return None
        return max(self.retry_s * 4.0 ** (attempt - 1), asked_s)
