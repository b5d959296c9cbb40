"""Measurements that the documentation quotes, each with the command that produces it. Figures are CPU time where that
is possible; what is compared is measured in one run.

- `command/` has the commands of `whimbrel bench`: options in, a table or JSON out.
- `flow.py` measures what a hop between components costs, `simweb.py` how fast the simulated web serves.
- `overhead.py` measures what questions and an open dashboard cost a running crawl; `observers.py` are those that ask
  and look on, `browser.py` is the browser they use.
- `query.py` asks the tables of a large crawl, which is made up; `scale/` crawls on with a state of ten million URLs.
- `politeness/` proves from the server's log that a crawl keeps its promises, and measures crawls of many slow hosts.
- `peers/` runs other crawlers on the same pages.
- `exact.py` compares a crawl with the truth, URL by URL; `whimbrel demo` uses it, and so do the tests.
"""
