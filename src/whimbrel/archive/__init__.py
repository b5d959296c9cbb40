"""What is kept of a crawl.

The *archivist* is the end of every visit: it hands the outcome to the *archive* and only then lets the frontier forget
the entry. `api.py` has the contract; `memory.py` keeps outcomes in memory and writes them as JSON lines when it is
closed.
"""
