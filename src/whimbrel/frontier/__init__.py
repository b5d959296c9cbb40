"""What to visit next, and when.

The *distributor* takes links in: it resolves nothing and fetches nothing, it asks scope and URL-seen and hands what is
new to the *frontier*. The frontier keeps an entry in its host's queue until the visit that was made for it is
finished, so there is no in-flight state to lose. The *traversal* takes what the frontier's gate lets out (Hunyadi §4:
traversal and load-balancer components).

`api.py` has the contracts. `memory.py` keeps everything in memory: enough to crawl a simulated web, and the reference
for the on-disk frontier's contract tests.
"""
