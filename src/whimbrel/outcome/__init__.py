"""How a visit ends: decisions that several parts share, each with one home.

`value.py` has the words of outcomes, and says which of them bring content. `classify.py` says what an exchange, a
refusal or a document makes of a visit: a *verdict* (`verdict.py`). `redirect.py` says where a redirect leads and how
many in a row are followed, `duplicate.py` whether a document is a duplicate or unchanged. `retry.py` says whether a
visit that failed is made again, and when; `retry_after.py` which answers ask a crawler to slow down, and for how long a
Retry-After header asks it to wait.
All of these are values or pure functions; `effect` applies what they decide.
"""

from whimbrel.outcome.retry_after import MAX_RETRY_AFTER_S, asked_wait_s, asks_to_slow_down, retry_after_s
from whimbrel.outcome.value import CONTENT, Outcome

__all__ = ["CONTENT", "MAX_RETRY_AFTER_S", "Outcome", "asked_wait_s", "asks_to_slow_down", "retry_after_s"]
