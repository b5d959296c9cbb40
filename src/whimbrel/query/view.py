"""The tables of one crawl or of several as views of a DuckDB.

| view | |
|---|---|
| `captures` | every capture |
| `pages` | of each URL the latest capture with content, when that was last confirmed, and when it was found gone |
| `links` | the links of those captures; `links_history` has those of all |
| `fetches`, `events`, `handled` | as they are stored |
| `hosts` | the latest row of each site |
| TABLE | a user's items: of each page those of the last time that handlers did well; `TABLE_history` has all |

With several crawls every view has one more column, `crawl`: the name of the directory a row comes from. Views whose
names begin with `_` are for ourselves; there `_crawl` is the number of the crawl.

A crawl in which no URL was captured twice needs no search for the latest, and does none.
"""

from collections.abc import Sequence
from typing import Final

import duckdb

from whimbrel.facts.api import TABLES
from whimbrel.outcome import CONTENT, Outcome
from whimbrel.query.snapshot import Snapshot
from whimbrel.query.table_rows import item_rows, literal, table_rows

_CONTENT: Final = f"outcome IN {tuple(map(str, CONTENT))}"
_HANDLED_WELL: Final = ("ok", "filter-error")
_CONFIRMED: Final = f"outcome IN {(*map(str, CONTENT), str(Outcome.UNCHANGED))}"

# S608 below: tables and columns are our own names, and everything else is quoted.


def make_views(connection: duckdb.DuckDBPyConnection, crawls: Sequence[Snapshot]) -> list[str]:
    """The names of the views, one for each table. Beside them `_pages` and `_contents` (all captures with content) are
    made, numbered by crawl. The functions `site`, `host`, `_simhash` and `_url_id` must be there already."""
    for at, crawl in enumerate(crawls):
        for table in TABLES:
            connection.execute(f"CREATE VIEW _stored_{table}_{at} AS {table_rows(connection, table, at, crawl)}")
        connection.execute(f"CREATE VIEW _pages_{at} AS {_pages(at, crawl)}")
        connection.execute(f"CREATE VIEW _links_{at} AS {_links(at, crawl)}")
    shown = {
        "captures": "_stored_captures", "pages": "_pages", "links": "_links", "links_history": "_stored_links",
        **{table: f"_stored_{table}" for table in ("fetches", "hosts", "events", "handled")},
    }  # fmt: skip
    for view, source in shown.items():
        connection.execute(f"CREATE VIEW {view} AS {_united(source, crawls)}")
    for view, source, where in (("_pages", "_pages", "true"), ("_contents", "_stored_captures", _CONTENT)):
        numbered = (f"SELECT *, {at} AS _crawl FROM {source}_{at} WHERE {where}" for at in range(len(crawls)))  # noqa: S608
        connection.execute(f"CREATE VIEW {view} AS {' UNION ALL '.join(numbered)}")
    items = sorted({name for crawl in crawls for name in crawl.items})
    for table in items:
        _make_item_views(connection, table, crawls)
    return [*shown, *(name for table in items for name in (table, f"{table}_history"))]


def _united(source: str, crawls: Sequence[Snapshot]) -> str:
    """Views of one kind, one for each crawl, as one."""
    if len(crawls) == 1:
        return f"SELECT * FROM {source}_0"  # noqa: S608
    named = enumerate(crawl_names(crawls))
    return " UNION ALL ".join(f"SELECT *, {literal(name)} AS crawl FROM {source}_{at}" for at, name in named)  # noqa: S608


def _pages(at: int, crawl: Snapshot) -> str:
    captures = f"_stored_captures_{at}"
    if not crawl.recaptured:
        return f"""
            SELECT *, fetched_at AS checked_at, CAST(NULL AS TIMESTAMPTZ) AS gone_at
            FROM {captures} WHERE {_CONTENT}"""  # noqa: S608
    # A page may return to what it was before: then an earlier capture has the content that was confirmed last. A record
    # is of one capture, also where two are of the same moment. Only places are sorted: texts are long.
    return f"""
        SELECT capture.*, _checked_at AS checked_at, CASE WHEN _gone_at > _checked_at THEN _gone_at END AS gone_at
        FROM {captures} capture JOIN (
            SELECT max_by(_place, (_brought_at, _place)) FILTER (_place IS NOT NULL) AS _latest,
                   max(_confirmed_at) AS _checked_at, max(_missed_at) AS _gone_at
            FROM (
                SELECT url,
                    max(struct_pack(t := fetched_at, f := warc_file, o := warc_offset)) FILTER ({_CONTENT}) AS _place,
                    max(fetched_at) FILTER ({_CONFIRMED} AND status <> 304) AS _brought_at,
                    max(fetched_at) FILTER ({_CONFIRMED}) AS _confirmed_at,
                    max(fetched_at) FILTER (outcome = 'gone') AS _missed_at
                FROM {captures} GROUP BY url, digest
            ) GROUP BY url HAVING bool_or(_place IS NOT NULL)
        ) ON capture.warc_file = _latest.f AND capture.warc_offset = _latest.o"""  # noqa: S608


def _links(at: int, crawl: Snapshot) -> str:
    stored = f"SELECT * FROM _stored_links_{at}"  # noqa: S608
    if not crawl.recaptured:
        return stored
    return f"{stored} SEMI JOIN _pages_{at} USING (capture_id)"


def _make_item_views(connection: duckdb.DuckDBPyConnection, table: str, crawls: Sequence[Snapshot]) -> None:
    """TABLE has the items of the last time that handlers looked at each page (`_last_runs`), and of those with one key
    the last; TABLE_history has all, with where and when they come from and the version of the code that made them."""
    latest, history = [], []
    for at, (name, crawl) in enumerate(zip(crawl_names(crawls), crawls, strict=True)):
        if table in crawl.items:
            items, handled = item_rows(connection, table, at, crawl), f"_stored_handled_{at}"
            source = f", {literal(name)} AS crawl" if len(crawls) > 1 else ""
            latest.append(f"""
                SELECT * EXCLUDE (_run, _page, _capture_id, _at, _key){source} FROM ({items}) item
                SEMI JOIN ({_last_runs(table, at)}) last ON item._run = last.run
                QUALIFY row_number() OVER (PARTITION BY item._key ORDER BY item._at DESC, item._run) = 1""")  # noqa: S608
            history.append(f"""
                SELECT item.* EXCLUDE (_run, _key), run.version AS _version{source}
                FROM ({items}) item JOIN {handled} run ON item._run = run.run""")  # noqa: S608
    for name, parts in ((table, latest), (f"{table}_history", history)):
        connection.execute(f'CREATE VIEW "{name}" AS {" UNION ALL BY NAME ".join(parts)}')


def _last_runs(table: str, at: int) -> str:
    """Of each page the last time that handlers with a class for this table looked at it, and did not fail. Events say
    which tables each version of the code fills. Earlier releases did not write them: their code counts for every
    table."""
    return f"""
        SELECT max_by(run, "at") AS run FROM _stored_handled_{at}
        LEFT JOIN (
            SELECT subject AS version, bool_or(list_contains(string_split(detail, ' '), {literal(table)})) AS fills
            FROM _stored_events_{at} WHERE actor = 'handlers' AND "action" = 'code' GROUP BY subject
        ) code USING (version)
        WHERE outcome IN {_HANDLED_WELL} AND (handlers <> '' OR outcome = 'ok') AND coalesce(fills, true)
        GROUP BY url"""  # noqa: S608


def crawl_names(crawls: Sequence[Snapshot]) -> list[str]:
    """The names of the directories; in full where two are the same."""
    short = [crawl.directory.resolve().name for crawl in crawls]
    return [name if short.count(name) == 1 else str(crawl.directory) for name, crawl in zip(short, crawls, strict=True)]
