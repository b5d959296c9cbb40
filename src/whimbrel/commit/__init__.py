"""How results become durable: all effects of a visit together, in groups, in order.

What `effect` does to the crawl's memory enters the open *group*, a visit's effects in one step. The *journal*
(`journal.py`) owns the open group; what it holds besides the state's changes is `result`'s to know. About once a
second, or when the group holds too much (`group_limit.py`), it seals it and hands it to the *committer*
(`committer.py`), on a thread of its own, while the next group fills:

1. append the WARC records, and one frame of rows to the tail of the facts;
2. fdatasync both;
3. write the state's changes and the commit's own description (`committed.py`, with the counts of `counters.py`) to
   RocksDB, synced, as one batch;
4. publish the description as the file COMMITTED, for readers.

Before the disk is full the crawl pauses (`free_space.py`), and while visits cannot be made for want of something that
this machine should have (`shortage_watch.py`). The description lists the SHA-256 of every file that is
complete (`digest.py`), and `verify.py` compares them; `verify_state.py` does so with the state. What an import was
begun with is in a list of its own (`import_list.py`).

Step 3 is the commit. Whatever happens before it is cut away at the next start (`recovery.py`); whatever happens after
it is repeated. Only after step 4 are parts told (`Journal.after_commit`), spill files given back, and checkpoints over.
After an error of the disk the same group is tried again from where it was: before step 3 the files are cut back, after
it only the rest is repeated. When step 3 itself failed nobody knows whether it worked: the database is opened again,
and says. Meanwhile the journal is *behind*, and the traversal lets nothing out.

`upgrade.py` takes a state of the format before to this one. `crash.py` names the points between the steps, so that
tests can die at each of them.
"""
