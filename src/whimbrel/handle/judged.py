"""What the user's own code says of the links of a page, for whoever follows them."""

from collections.abc import Mapping

from whimbrel.parse.api import Parsed

FILTER = "filter"
FILTER_ERROR = "filter-error"
SCHEME = "scheme"


class JudgedVisit(Parsed, frozen=True, gc=False):
    """A visit that was read, and some of its links are not to be followed."""

    refusals: Mapping[str, str] = {}
    """Links with the reason for which they are not followed: `filter`, or `filter-error` where a filter failed."""
    nowhere: int = 0
    """Links of handlers that lead to no http or https URL."""


def judged_visit(parsed: Parsed, refusals: Mapping[str, str], nowhere: int) -> Parsed:
    """The visit itself when there is nothing to say of its links."""
    if not refusals and not nowhere:
        return parsed
    known = {name: getattr(parsed, name) for name in Parsed.__struct_fields__}
    return JudgedVisit(**known | {"unwanted": frozenset(refusals)}, refusals=refusals, nowhere=nowhere)
