"""Watch and steer a crawl while it runs (Agarwal et al. §2.5; Hunyadi §6).

An *action* (`api.py`) is a named, typed value: pause, block, set. Nothing else is ever accepted, and no code. The
*action executor* (`executor.py`) sits in the crawl's process, carries actions out one after the other on its loop, and
records each in `events`, in the commit that makes its effect durable. What must survive a restart is written into the
crawl's job (job.toml), so that `resume` needs to know nothing of it: a blocked host stays blocked. `reconfigure.py`
knows which options and settings may change, and changes them; `block.py`
makes the list of what is blocked longer or shorter, `requeue.py` finds the URLs to be visited once more, `rewire.py`
makes the wiring that parts are added to or removed from.

The *listener* (`listener.py`) has an address of this machine, which stands with a token in control.json in the crawl's
directory, for its owner's eyes only (`address.py`). The server behind it (`server.py`: HTTP, described by `openapi.py`,
answers in `answer.py`) is loaded at the first connection; `connection.py` bounds connections, `guard.py` says who may
call. `client.py` is the other side,
for the command line, programs and the dashboard.

`status.py` is what can be seen: numbers, the live wiring, health (`warning.py`), history (`history.py`), the machine
(`machine.py`), options and settings (`configuration.py`) and metrics (`metric.py`), which parts declare beside their
code. `changed_value.py` says what a change makes of options and settings.

Control knows jobs, and no job knows control: who begins a crawl hands over `serve_control`, which the job enters when
it begins and leaves when it ends.
"""
