"""What to visit next, and when.

The *distributor* takes links in: it resolves nothing and fetches nothing, it asks scope and URL-seen and hands what is
new to the *frontier*. The frontier keeps an entry in its host's queue until the visit that was made for it is
finished, so there is no in-flight state to lose. The *traversal* takes what the frontier's gate lets out (Hunyadi §4:
traversal and load-balancer components).

A host waits for its *turn* on disk, all but the nearest (`turn.py`, `schedule.py`); its *queue* is on disk too, all but
its head (`queue.py`). The *gate* has the clocks of hosts, domains and addresses, and lives in memory only: after a
restart everything counts as just visited. The frontier owns hosts, queues and turns; the gate owns its clocks; URL-seen
owns the known keys. All of them change the state's open group and nothing else, so that one commit holds what belongs
together.

`rate.py` is how fast the crawl as a whole may go, `order.py` how a queue is ordered and what becomes of it when the
order changes, `asked.py` how many hosts the qualifier has, `count.py` limits URLs that differ in their queries only.
The gate can be paused, and holds blocked hosts back with their queues. Settings that a running crawl can change are
taken over by `reconfigure`.

`api.py` has the contracts; `disk.py` is the frontier, step by step.
"""
