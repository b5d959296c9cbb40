"""From a visit to an answer.

The *downloader* (`downloader.py`) keeps many visits under way at once; the *transport* makes one *exchange* per visit:
one request to one address, and what came of it. It never follows a redirect, never repeats a request, never goes to an
address it was not given, and never takes more than its limits. Trouble is an answer too: an `Exchange` carries a
`Response` or says in one word what went wrong. A response's body is a *document*: in memory while it is small, else in
an unnamed file.

`api.py` is the contract, `transports.py` chooses the transport by scheme. `curl.py` is the one for http and https, on
libcurl. It owns a pool of handles (`handle.py`: one exchange at a time each, set up as `curl_option.py` says), the
wiring of libcurl into the event loop (`curl_loop.py`), the limits on time that libcurl does not have (`patience.py`),
and the thread that ends a connection which libcurl cannot leave (`watchdog.py`). `trouble.py` gives libcurl's errors
their words, and says whose fault they are, `head.py` reads and writes heads, `request_header.py` says which header
lines a request has, `credential.py` which of them are secrets and for whom, `cookie.py` which cookies are sent,
`body.py` collects bodies (`spill_space.py`: those on disk within the room there is), `coding.py` takes content codings
off them, and `network.py` judges addresses. `resolver.py` finds the
addresses of hosts and owns the cache of answers; `hosts_file.py` knows some without asking, and `search_list.py` in
which domains a short name may be.

All of it but the watchdog lives on the thread of one event loop; nothing here is shared between loops.
"""
