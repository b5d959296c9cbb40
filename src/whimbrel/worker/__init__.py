"""Processes for code that may loop, leak or crash: bytes in, bytes out, and what goes wrong costs one request.

    submit(request) ── WorkerPool ── socket ──> worker: serve(request) ──> reply ── done(WorkerReply)
                           └── ForkServer ── fork ──┘

It knows nothing of crawling: handlers run on it (`whimbrel.handle`), and so can any parser that is not to be trusted.

- A *fork server* (`fork_server.py`) is a process forked from the program while that has no threads yet (`parent.py` is
  its code). It forks *workers* on request, waits for them when they end, and takes them with it when it ends or when
  the program is gone.
- A *worker* (`process.py`) has the program's functions and classes as they were at that moment, and nothing of what
  came later. It serves one request after the other within a limit on memory, and leaves when it has grown
  (`memory.py`).
- The *pool* (`pool.py`) lives on the program's event loop. It sends each worker a batch of requests through a socket
  (`wire.py`) and waits for one reply after the other (`connection.py`). It kills a worker that is late or says what it
  should not, and replaces every worker that ends.

The life of a request: submitted, it waits for a worker; it is sent, as one of a batch; the worker serves it, and its
reply is handed to `done`. If the worker dies instead, the request it was working on is tried once more, since it need
not be to blame; if that worker dies, too, or if it takes too long, it gets a reply that says so. The others of the
batch wait for the next worker. `api.py` is the contract: what each outcome means, and what is not promised.

The pool owns the requests and the connections, the fork server the processes. Nothing is shared between two pools, so
a program may have several, also on one fork server.
"""

from whimbrel.worker.api import LastReply, MakeServe, Pool, Serve, WorkerOutcome, WorkerReply
from whimbrel.worker.fork_server import ForkServer, ForkServerLost, fork_server
from whimbrel.worker.pool import WorkerPool

__all__ = [
    "ForkServer",
    "ForkServerLost",
    "LastReply",
    "MakeServe",
    "Pool",
    "Serve",
    "WorkerOutcome",
    "WorkerPool",
    "WorkerReply",
    "fork_server",
]
