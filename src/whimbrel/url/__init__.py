"""URLs: what they mean, what they are called, and which of them a crawl is about.

A *URL* (`value.py`) is absolute and canonical (`canonical.py`), of a known scheme (`scheme.py`), without fragment and
credentials: what is asked for on the wire. Two spellings of one URL become equal by parsing alone; nothing is folded
that a server may tell apart, and a path is never lower-cased. Parsing is ada-url's, the parser of Node.js; a *joiner*
(`join.py`) does the same for the links of one document, faster.

A link becomes a URL's canonical text, then a *key* (`key.py`: 128 bits, what URL-seen remembers). The *scope*
(`scope.py`) says whether it belongs to the crawl, the *filters* (`filter.py`, `glob.py`, `block_list.py`) whether the
user wants it, the *limits* (`limit.py`) whether it looks like a trap. Each gives one word as the reason of a refusal.
The *domain* (`domain.py`) is what politeness and slots group hosts by. *SURT* (`surt.py`) is how the archive's index
spells a URL; nothing else may use it. `userinfo.py` knows what else people write into a URL: `user:password@`.

All of these are values or pure functions of values. No state is kept but one bounded cache, that of `Domains`.
"""

from whimbrel.url.domain import Domains
from whimbrel.url.filter import FilterRules, Filters
from whimbrel.url.join import Joiner
from whimbrel.url.key import SLOTS, Keys, slot
from whimbrel.url.limit import Limits, query_group
from whimbrel.url.scope import Scope
from whimbrel.url.value import Url, parse, resolve, restore

__all__ = [
    "SLOTS",
    "Domains",
    "FilterRules",
    "Filters",
    "Joiner",
    "Keys",
    "Limits",
    "Scope",
    "Url",
    "parse",
    "query_group",
    "resolve",
    "restore",
    "slot",
]
