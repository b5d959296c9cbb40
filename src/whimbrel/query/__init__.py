"""Questions to a crawl, while it runs or afterwards, in SQL.

A *snapshot* is what one published commit lists: Parquet files, and tails up to their committed lengths (`snapshot.py`,
`open_snapshot.py`). A *query* is a DuckDB in memory with one view per table over a snapshot (`sql.py`). It answers a
single SELECT, within limits of memory and time, and can reach no file but the snapshot's: SQL often comes from other
people, and so does what the pages say. `render.py` writes an answer in the formats that `format.py` names.

`CrawlData` is the same for programs: answers (`crawl_data.py`, `rows.py`), and *documents*, which are rows together
with their bodies from the archive (`document.py`). What SQL can say of URLs and documents beyond DuckDB's own is in
`function.py`; the rows of one crawl, old files included, in `table_rows.py`; the views, over one crawl or several and
over the tables of users' items, in `view.py`; near-duplicates are in `near_duplicate.py`. `backlog.py` tells what a
crawl that ended with work left waits for, without DuckDB; `handler_failure.py` what handlers failed with,
`host_count.py` how many hosts an import has.

Nothing here is shared with the crawl and nothing is written. A tail that was unlinked between the reading of the commit
and the opening of the file is `SnapshotGone`: read the commit again and take a new snapshot.
"""
