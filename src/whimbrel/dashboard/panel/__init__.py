"""The tabs of the dashboard, one module each: `overview.py`, `wiring.py`, `hosts.py`, `errors.py`, `console.py` (SQL),
`links.py` and `control.py` (every action by its form).

A panel makes its elements once, when its tab is first looked at, and refreshes them from a `Moment` as long as it is
shown; what has to be asked of the tables it asks when somebody wants to see it. `api.py` has what all of them need:
questions and actions off the loop's thread, confirmation, and tables.
"""
