"""The commands of `whimbrel bench`: options in, a table or JSON out; what is measured is in the packages around.

`app.py` is the group, with the short commands `flow`, `simweb` and `peers`. The others have a module each:
`politeness.py`, `wide.py` (many slow hosts), `scale.py` (ten million URLs), `slot.py` (a slot that moves), `query.py`
and `overhead.py` (what questions and an open dashboard cost a crawl).
"""
