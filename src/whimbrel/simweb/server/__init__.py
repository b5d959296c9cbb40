"""The servers of a simulated web, all in one process and one event loop, on loopback only.

- `service.py` turns a request into an answer and keeps the server's only state: clock, counters, tries, access log.
- `http1.py` and `http2.py` speak the protocols; both hand every finished exchange to the log (`log.py`; `pulse.py`
  notes how late the server itself is). `translation.py` says what a raw HTTP/1 script means in HTTP/2.
- `listen.py` makes the sockets: one for all of 127.0.0.0/8 (bound to the loopback device), one that never answers, one
  that refuses. `certificate.py` makes a certificate authority and a certificate per host.
- `serve.py` starts everything, says where it is, and stops it. `control.py` moves the clock and reads the counters of a
  running server through a Unix socket that only its owner can open.
"""
