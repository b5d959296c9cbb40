"""Qualification: whether a host may be crawled, by which rules, and at which addresses.

A *host* here is a site: scheme, host and port. The frontier finds one that is new, or whose qualification has run out,
and the traversal sends it as a `HostDue` to the *qualifier* (`qualifier.py`), which runs one *procedure*
(`procedure.py`) for it. The procedure asks DNS for the addresses, and each address in turn for robots.txt, in two
rounds. A `RobotsFetcher` (`robots_fetch.py`) makes these requests; what one of them comes to is a `RobotsFinding`. The
*verdict* (`robots_policy.py`) turns the finding, and what was known before, into a `Qualification`: qualified with
rules or without, disqualified until a time, or disqualified for good. Unknown means no. Of a host whose addresses alone
have run out only these are asked for, and nothing else of it changes.

*Rules* (`robots.py`, with the records of `robots_lines.py` in a text that `robots_body.py` has decoded) say whether a
URL may be visited; `robots_explain.py` says which of them forbids it.

`api.py` has the contracts: what the qualifier asks of the gate (`RequestGate`) and where its answers go
(`QualificationSink`). Nothing is kept here. The frontier owns the qualifications and writes them to disk with the rest
of a host's state; the gate owns the clocks, and decides how much of a Crawl-delay is honoured; every request made here
passes it, those to other hosts that a redirect names too.
"""
