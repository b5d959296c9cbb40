"""Is a crawl with ten million known URLs as fast and as small as one that has just begun?

`build.py` makes the state of a crawl that has come far: URLs are added, taken and finished through the frontier itself,
with commits, until it knows and has queued as many as asked for. `measure.py` then lets `whimbrel resume` go on with a
small state and with a large one, one after the other, on the same simulated web, and compares pages per second, peak
memory, and the time until the first request.

`slot.py` moves one slot of such a state to another and compares every pair before and after.
"""
