"""The facts of a crawl: what is known about captures, links, visits, hosts and events, as tables.

`api.py` has the tables, `row.py` and `links.py` their rows, `identity.py` the numbers that join them, `item.py` what
users' tables have beside their own columns. `legacy.py` reads what format 1 wrote.

Each commit appends one *frame* to the *tail*: its number, a check sum, and the new rows of all tables as Arrow batches.
When the tail is long enough, a new one begins, and a thread writes the old one again as *Parquet*, one file per table.
Until a commit has listed those files the old tail stands for its rows. Afterwards the files do, and the tail is
unlinked one rotation later. So every row is in exactly one listed file at any time, and whoever follows the last
published commit never reads a half-written one.

`api.py` has the tables and the contract, `schema.py` the tables as Arrow has them, `item.py` and `links.py` rows that
come in other ways. `store.py` keeps it all: `payload.py` and `frame.py` make the tail (`repair.py` leaves out what no
table can hold), `conversion.py` and `parquet.py` the Parquet files, `name.py` names both, and `check.py` looks at them
before a crawl goes back to a commit. `verify.py` looks for damage in tails. `read.py` reads some columns in little
memory; `arrow_import.py` loads pyarrow without pandas.

State: `ParquetFacts` owns the names and lengths. The thread owns nothing but the temporary files it writes; its result
counts when `rotate` has taken it over. All calls come from one thread, the committer's.
"""
