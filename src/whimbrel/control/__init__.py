"""Watch and steer a crawl while it runs (Agarwal et al. §2.5; Hunyadi §6).

An *action* (`api.py`) is a named, typed value: pause, block, set. Nothing else is ever accepted, and no code. The
*steward* (`steward.py`) sits in the crawl's process, carries actions out one after the other on its loop, and records
each in `events`, in the commit that makes its effect durable. What must survive a restart is written into the crawl's
job (job.toml), so that `resume` needs to know nothing of it: a blocked host stays blocked.

The steward listens at an address of this machine (`door.py`, `server.py`: HTTP, described by `openapi.py`), which
stands with a token in control.json in the crawl's directory, for its owner's eyes only (`address.py`). Nothing of that
is loaded until somebody calls. `client.py` is the other side, for the command line, programs and the dashboard.

`status.py` is what can be seen: numbers, the live wiring, health (`health.py`), history (`history.py`) and metrics
(`metric.py`), which parts declare beside their code.
"""
