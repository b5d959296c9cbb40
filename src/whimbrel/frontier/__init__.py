"""What to visit next, and when.

The *frontier* (`disk_frontier.py`) takes in URLs that `route` has let pass, asks URL-seen (`seen.py`) whether they are
new, and keeps an entry of each in its host's queue until the visit that was made for it is finished, so there is no in-
flight state to lose. (Hunyadi §4 has the same parts: traversal and load-balancer components.)

A host waits for its *turn* on disk, all but the nearest (`scheduler.py`, `due_queue.py`); its *queue* is on disk too,
all but its head (`queue.py`, with the keys of `order.py` and the values of `entry.py`). The record of a URL says where
its entry is, so that a URL is never queued twice and can be found. What is ordered by time, hosts in `due` and URLs to
be tried again in `retry`, is derived: it can be rebuilt from hosts and queues. All counts are per slot (`meta.py`), and
a slot can leave and come as a whole (`slot_transfer.py`).

The *gate* (`gate.py`) decides when a request may begin. It has the clocks of hosts, domains and addresses (`pace.py`,
`pace_table.py`), the lines in which hosts wait for them (`line.py`), and the delays that the configuration asks for
(`host_delay.py`). The clocks live in memory only: after a restart everything counts as just visited. Only crowded
addresses are remembered (`crowd.py`). Where several processes reach one domain or address the gate needs a *permit*
(`permit.py`). It is closed as a whole for a set of reasons, and says which hosts are blocked.

The *traversal* (`traversal.py`) takes what is let out until the *termination* (`termination.py`) says that the crawl is
over. It closes the gate while the disk takes no data.

The frontier owns hosts, queues and turns; the gate owns its clocks; URL-seen (`seen.py`) owns the known keys. All of
them change the state's open group and nothing else, so that one commit holds what belongs together.

Times on disk are the crawl's own, which no setting of the machine's clock disturbs (`crawl_time.py`).

`host.py` is what is known of a host, `health.py` how well it answers, `hold.py` whether the user holds it back,
`speed_limit.py` how fast the crawl as a whole may go, `qualifier_quota.py` how many hosts the qualifier has,
`query_limit.py` limits URLs that differ in their queries only. Settings that a running crawl can change (`option.py`)
are taken over by `reconfigure`; `metric.py` is what can be measured. `reader.py` looks up a URL or a host in the state
of another process's crawl.

`api.py` has the contracts.
"""
