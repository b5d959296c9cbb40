"""What the tables of a crawl say about URLs, for many of them at once."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

import msgspec

from whimbrel.query.table_rows import literal
from whimbrel.url import Url

Rows = list[dict[str, Any]]
Ask = Callable[[str], Rows]
EXAMPLES: Final = 5
"""Links and redirects to a URL that are named."""
_AT: Final = r"regexp_replace(url, '^https?://([^/:]*)(:[0-9]+)?', '\1')"
"""A URL without scheme and port, in SQL."""
_ORDER: Final = "started_at, outcome <> 'retry'"
"""Of visits: what was decided at the moment of a failed try comes after it."""

# S608 below: every text is quoted, and only SELECT can be run.


class LinkGroup(msgspec.Struct, frozen=True):
    """Links to one URL that are judged alike."""

    kind: str
    nofollow: bool
    """The links say so."""
    page_nofollow: bool
    """Their pages do."""
    count: int
    depth: int
    """Of the page that is nearest to a seed."""
    nearest: list[dict[str, str]]
    """`source` and `anchor` of some, from the nearest pages."""


class UrlFacts(msgspec.Struct):
    """The rows of one URL."""

    visits: Rows = []
    captures: Rows = []
    page: Rows = []
    host: Rows = []
    links: list[LinkGroup] = []
    redirects: int = 0
    redirected_from: Rows = []

    @property
    def is_linked(self) -> bool:
        return bool(self.links or self.redirected_from)

    @property
    def linked_from(self) -> Rows:
        """Some links to it, those of the nearest pages first."""
        total = sum(group.count for group in self.links)
        found = sorted(
            ((group.depth, link, group.kind) for group in self.links for link in group.nearest),
            key=lambda one: (one[0], one[1]["source"]),
        )
        return [{**link, "kind": kind, "total": total} for _, link, kind in found[:EXAMPLES]]


class FactsReader:
    """Each table is read once for all the URLs of a question."""

    def __init__(self, ask: Ask) -> None:
        self._ask = ask
        self.pages_read_in_part: int = ask("select count(*) as n from pages where truncated <> ''")[0]["n"]

    def read(self, urls: Sequence[Url]) -> dict[str, UrlFacts]:
        """By the text of each URL."""
        texts = _listed(url.text for url in urls)
        facts = {url.text: UrlFacts() for url in urls}
        for url, rows in self._by_url(f"select * from fetches where url in {texts} order by {_ORDER}"):  # noqa: S608
            facts[url].visits = rows
        visited = _listed(text for text, one in facts.items() if one.visits)
        left_out = "exclude (text, simhash)"
        for url, rows in self._by_url(
            f"select * {left_out} from captures where url in {visited} order by fetched_at"  # noqa: S608
        ):
            facts[url].captures = rows
        for url, rows in self._by_url(f"select * {left_out} from pages where url in {visited}"):  # noqa: S608
            facts[url].page = rows
        self._add_links(facts, texts)
        self._add_hosts(facts, urls)
        return facts

    def endings(self, texts: Iterable[str]) -> dict[str, tuple[str, str]]:
        """Outcome and reason of the last visit of each URL that has one."""
        found = self._ask(
            f"select url, arg_max({{'outcome': outcome, 'reason': reason}}, ({_ORDER})) as last "  # noqa: S608
            f"from fetches where url in {_listed(texts)} group by url"
        )
        return {row["url"]: (row["last"]["outcome"], row["last"]["reason"]) for row in found}

    def depths(self, texts: Iterable[str]) -> dict[str, int]:
        """The hops from a seed of each page."""
        found = self._ask(f"select url, min(depth) as depth from captures where url in {_listed(texts)} group by url")  # noqa: S608
        return {row["url"]: row["depth"] for row in found}

    def similar(self, urls: Iterable[Url]) -> dict[str, Rows]:
        """For each URL some visited ones that differ in scheme or port only."""
        names: defaultdict[str, list[str]] = defaultdict(list)
        for url in urls:
            names[f"{url.host}{url.target}"].append(url.text)
        found: dict[str, Rows] = defaultdict(list)
        sql = f"select distinct {_AT} as name, url from fetches where {_AT} in {_listed(names)} order by url"  # noqa: S608
        for row in self._ask(sql):
            for text in names[row["name"]]:
                if text != row["url"] and len(found[text]) < EXAMPLES:
                    found[text].append({"url": row["url"]})
        return found

    def _add_links(self, facts: dict[str, UrlFacts], texts: str) -> None:
        """Of all captures: a link that a page had once may have had a URL queued."""
        for row in self._ask(
            "select l.target as url, l.kind, list_contains(string_split(l.rel, ' '), 'nofollow') as nofollow, "  # noqa: S608
            "list_contains(string_split(c.robots_meta, ','), 'nofollow') as page_nofollow, count(*) as links, "
            f"min(c.depth) as depth, arg_min({{'source': l.source, 'anchor': l.anchor}}, c.depth, {EXAMPLES}) "
            "as nearest from links_history l join captures c on c.capture_id = l.capture_id "
            f"where l.target in {texts} group by 1, 2, 3, 4 order by 1, 6, 2"
        ):
            group = LinkGroup(
                row["kind"], row["nofollow"], row["page_nofollow"], row["links"], row["depth"], row["nearest"]
            )
            facts[row["url"]].links = [*facts[row["url"]].links, group]
        for row in self._ask(
            f"select redirect_to as url, count(distinct url) as n, arg_min(url, started_at, {EXAMPLES}) as sources "  # noqa: S608
            f"from fetches where redirect_to in {texts} and outcome = 'redirected' group by 1"
        ):
            one = facts[row["url"]]
            one.redirects = row["n"]
            one.redirected_from = [{"url": url} for url in dict.fromkeys(row["sources"])]

    def _add_hosts(self, facts: dict[str, UrlFacts], urls: Sequence[Url]) -> None:
        sites = {url.site for url in urls}
        hosts = {row["site"]: row for row in self._ask(f"select * from hosts where site in {_listed(sites)}")}  # noqa: S608
        for url in urls:
            if url.site in hosts:
                facts[url.text].host = [hosts[url.site]]

    def _by_url(self, sql: str) -> Iterable[tuple[str, Rows]]:
        found: defaultdict[str, Rows] = defaultdict(list)
        for row in self._ask(sql):
            found[row["url"]].append(row)
        return found.items()


def _listed(texts: Iterable[str]) -> str:
    """A list in SQL; one that holds nothing when there are none."""
    return f"({', '.join(map(literal, texts)) or 'null'})"
