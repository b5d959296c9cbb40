"""What visits do to the crawl's memory: all effects of a visit together, in one step.

The *archivist* (`archivist.py`) is the end of every visit; it hands it to the *effects* (`effects.py`), which take the
last decisions (is it made again, is its document known) with the functions of `outcome`, and apply them to the open
group: the frontier forgets the entry or postpones it, new links are queued, payloads are claimed, rows and captures
(`capture.py`) go to the journal, and all of it is counted. The effects of one visit are never split. `latency.py` keeps
how long answers take.

The effects own the counters and where redirecting seeds have led; everything else that they change belongs to the
frontier, content-seen and the journal.
"""
