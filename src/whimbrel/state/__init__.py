"""Everything a crawl must remember between two visits: one RocksDB, changed in groups.

A *space* is a family of keys with one use: known URLs, queues, hosts and so on (`api.py`). A *group* (`group.py`) is a
set of changes that become durable together, with the outcomes and the archive records they belong to; `commit` decides
when. Reads see all changes at once, committed or not: the open group first, then the groups that are being written,
then the disk (`rocks.py`, with the options of `option.py`). A group is kept in memory until its write has returned, so
nothing is ever invisible in between. After a write that failed RocksDB takes no other until it is opened again
(`reopen`); until there is room for that it can still be read.

Keys that belong to a URL, a host or a payload begin with a *slot* of two bytes, so that a slot's part of the state can
be listed, moved and deleted as a whole (`slot.py`). What is ordered by time (`due`, `retry`) does not: it is derived,
and can be rebuilt. The *secret* (`secret.py`) keys all hashes; it belongs to the crawl and not to one state.

What ends with its process, like a single fetch, has a state in memory (`memory.py`), which is keys and values only.

The database's own lock (`lock.py`) is the crawl's lock: two processes cannot work on one crawl. Only the crawl opens
the database to write; readers use what is published (`commit/committed.py`), or look into the database without its lock
(`reader.py`). Neither is opened when a log of the database is damaged, which RocksDB itself does not always notice
(`log_file.py`). A state of an earlier format is upgraded by
`resume` (`commit/upgrade.py`).
"""
