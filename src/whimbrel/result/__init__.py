"""What is kept of a visit that is over, and the rows that the tables get of it.

A *settled visit* (`work.py`) is the last message of a visit: its outcome, what the archive keeps of it, and what the
tables need to know. A group's *work* is the settled visits and everything else that it holds besides the state's
changes. `rows.py` makes rows of it, once the archive has said where the records are. Nothing here has a state, but for
a bounded cache of ids that belongs to the committer.
"""
