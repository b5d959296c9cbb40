"""The user's own code on the way of a page: handlers that make items and links of it, filters that judge URLs.

    url, mime ── rule ──> handler(page) ──> items, links ──> the same commit as the page

A *handler* is a function that gets a `Page` (`page.py`) and yields `Item`s (`item.py`) and `Link`s; *rules* say which
handler is for which page (`rule.py`). What a page is asked with selectors is `Selected` (`select.py`, made of the nodes
in `node.py`); selectors are taken apart in `css.py`, numbers are read in `number.py`, data for machines in
`structured.py`. The *runner* runs handlers, in a worker of `whimbrel.worker`: a process forked before the crawl begins,
so that a handler needs no import of its own and may be defined in a script or a notebook (`runner.py`). What handlers
make of one page has a limit in bytes (`made.py`). The *pool* sends workers tasks and takes results back, as bytes
(`handler_pool.py`, `message.py`); a worker that takes too long, needs too much memory or dies is replaced, and costs
the page that it had its items, never the crawl. The *component* stands between parser and distributor and adds what
handlers made to the page, and what filters say of its links, so that all of it enters one commit (`component.py`).

The rules and the process with their code belong to the job as the provider `handler-code`, the workers to the provider
`handler-pool`; both are there once per crawl, and two crawls in one program share neither.

Each time handlers looked at a page is a row of the table `handled`, errors with their traceback included. Items name
that row: those of the last time are what queries see.
"""
