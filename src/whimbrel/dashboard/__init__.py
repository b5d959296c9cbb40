"""The crawl on a page that is alive: numbers, the wiring, hosts, errors, questions, and the actions of `control`.

It runs in a process of its own (`serve.py`; `process.py` starts it beside a crawl, if `library.py` finds it installed)
and asks the crawl once a second,
however many people look on (`feed.py`, `source.py`), so that a crawl hardly notices; what is in the tables it asks
DuckDB. Without a running crawl it shows what the last commit left, with the history that the table of visits
tells (`past.py`).

`guard.py` lets in callers that have the token. `page.py` is the frame with its tabs, `panel/` has one module for each
of them. `chart.py` makes drawings out of numbers, as plain values, and `drawing.py` the picture of the live wiring.
Whatever pages, hosts and servers have said is shown as text and never as HTML.
"""
