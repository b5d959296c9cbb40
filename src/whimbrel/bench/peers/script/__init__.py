"""Programs that run in processes and environments of their own, named by what they run.

`reap.py` waits for all processes of a crawler and writes down what they used. `scrapy_peer.py` and `crawlee_peer.py`
are the crawls of these two peers, written as their own documentation writes them; they run in the environment where the
peers are installed, so they import nothing of Whimbrel and are not checked against their libraries here. `quotes.py` is
what Whimbrel takes out of the pages of the corpus of that name.
"""
