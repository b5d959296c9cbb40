"""The user's own code on the way of a page: handlers that make items and links of it, filters that judge URLs.

    url, mime ── rule ──> handler(page) ──> items, links ──> the same commit as the page

A *handler* is a function that gets a `Page` and yields `Item`s and `Link`s (`rule.py`). It runs in a *worker*, a
process forked before the crawl begins, so that it needs no import of its own and may be defined in a script or a
notebook (`nursery.py`, `worker.py`). The *pool* gives workers pages, and takes the results back; a worker that takes
too long, needs too much memory or dies is replaced, and costs the page that it had its items, never the crawl
(`pool.py`). The *component* stands between parser and distributor and adds what handlers made to the page, so that all
of it enters one commit (`component.py`).

Each time handlers looked at a page is a row of the table `handled`, errors with their traceback included. Items name
that row: those of the last time are what queries see.
"""
