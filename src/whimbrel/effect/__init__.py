"""What visits do to the crawl's memory: all effects of a visit together, in one step.

The archivist is the end of every visit; it hands it to the *effects* (both in `effects.py`), which take the
last decisions (is it made again, is its document known) with the functions of `outcome`, and apply them to the open
group: the frontier forgets the entry or postpones it, new links are queued, payloads are claimed, rows and captures go
to the journal (`archivist.py` says what the archive gets). The effects of one visit are never split. *Counting*
(`counting.py`, `latency.py`) is a matter of its own, and so is *seeding* (`seeding.py`), by which a crawl begins.
Whatever brings URLs, a page, a seed or an operator, they enter by one door (`Effects.admit`); and whatever brings
answers, our own transport or an archive of somebody else's, by another (`Effects.apply`). A visit without a token is
one that no frontier has let out: its URL is remembered, and it is never made again.

The effects own where redirecting seeds have led (`scope_lead.py`); everything else that they change belongs to the
frontier, content-seen and the journal.
"""
