"""Has this payload been seen before?

*Dedupe* stands between the downloader and the parser. It takes the SHA-1 of each payload as it was received and asks
*content-seen* which capture brought the same bytes first (`dedupe.py`; `api.py` is the contract), but for documents
that are known to be too short for duplicates (`outcome/duplicate.py`). It only looks up.
Whether a page counts as a duplicate is decided with its effects, since another visit may claim the payload first. A
payload is remembered by the effects, with `claim`, in the same group that stores the page, so content-seen never knows
a payload that the archive does not hold. `rocks.py` keeps it in the crawl's state, in the space `content`, with a
bounded cache of its own in front.

Texts that are nearly equal are another matter: `simhash.py` computes 64 bits for each. Queries do that from the table
of pages when they need it, and compare them there (`near_duplicates`); the committer does when a crawl is told to.
Nothing in the crawl waits for it.
"""
