"""Links of one page together: the layout in which they are cheap to keep.

A page has dozens of links with one source. A tuple per link would say the source each time, and would be taken apart
again for the columns; lists per page are joined as they are.
"""

import msgspec


class PageLinks(msgspec.Struct, frozen=True, gc=False):
    """The links of one page in the order of the page. All lists have the same length."""

    capture_id: int
    source_key: int
    source: str
    target_keys: list[int]
    targets: list[str]
    anchors: list[str]
    rels: list[str]
    kinds: list[str]
