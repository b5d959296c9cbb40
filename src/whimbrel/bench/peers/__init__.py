"""Whimbrel beside other crawlers: one corpus, one server, one core each, in one run.

A *corpus* is a folder of static pages: those of manuals from the system's packages, or pages made from dice, which are
the same on every machine. Their hosts come in
*neighbourhoods* that link only among themselves: whoever starts with the roots of a few neighbourhoods sees a small
corpus with all the traits of the whole one. So slow peers get a *sample*, with nothing changed in their settings.

A *server* (nginx, or the simulated web's own) serves it from one core. A *peer* crawls it on another: its *runner* says
how to call it, and a *reaper* waits for all its processes and says what CPU they used. How many pages a peer fetched
is read from the server's log, never taken from the peer. Peers cannot be told a name server, so all of this happens in
a *private* network of one machine, with an /etc/resolv.conf of its own, from which nothing else can be reached.

`corpus.py` writes a corpus with the pages of `documentation.py`, `page.py` or `quote.py`; `server.py` serves it and
`names.py` answers for its hosts. `start.py` opens the private place (`private.py`), where `compare.py` has `measure.py`
run each peer; `runner/` says how each is called, `script/` has what runs in its process. `report.py` and `plot.py` show
the figures. `api.py` has the values between all of these.

The command writes a *plan* and starts this package as a process in that private place; it gets *runs* back. The
state of a measurement is its folder; nothing lives longer than the run that made it, but a corpus in a named folder.
"""
