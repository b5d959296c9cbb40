"""From a visit to an answer.

The *downloader* keeps many visits under way at once; the *transport* makes one: it never follows a redirect, never
goes to an address it was not given, and never takes more than its limits. Trouble is an answer too: `Fetched` either
carries a `Response` or says in one word what went wrong. `curl.py` is the transport on libcurl, `resolver.py` finds
addresses.
"""
