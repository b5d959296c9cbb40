"""Everything a crawl must remember between two visits: one RocksDB, changed in groups.

A *space* is a family of keys with one use: known URLs, queues, hosts and so on. A *group* is a set of changes that
become durable together, with the outcomes and the archive records they belong to; `commit` decides when. Reads see all
changes at once, committed or not: the open group first, then the groups that are being written, then the disk. A
group is kept in memory until its write has returned, so nothing is ever invisible in between. After a write that failed
RocksDB takes no other until it is opened again (`reopen`); until there is room for that it can still be read.

The database's own lock is the crawl's lock: two processes cannot work on one crawl. Nobody but the crawl opens the
database; readers use what is published (`commit/committed.py`). Keys begin with a slot of two bytes, so that a slot's
part of the state can be moved.
"""
