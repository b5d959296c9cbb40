"""The names of a corpus, answered in a process of its own: every host has its own address in 127.0.0.0/8.

Own addresses matter: on one address and port, a client that opens a connection per host runs out of local ports.
"""

import asyncio
import multiprocessing
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from typing import Final

from whimbrel.bench.peers.api import HTTP_PORT, HTTPS_PORT, PeersError
from whimbrel.simweb.dns import DnsTcp, DnsUdp, NameServer
from whimbrel.simweb.server.listen import ListenError, every_loopback, loopback_udp, refuse_taken
from whimbrel.simweb.snapshot import SnapshotHosts

_START_S: Final = 20.0


@contextmanager
def answering(names: list[str], port: int) -> Iterator[None]:
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe(duplex=False)
    process = context.Process(target=_answer, args=(names, port, there), daemon=True)
    process.start()
    there.close()
    try:
        said = here.recv() if here.poll(_START_S) else "it did not start"
        if said:
            raise PeersError(f"the name server: {said}")
        yield
    except EOFError as error:
        raise PeersError("the name server ended at its start; it says why above") from error
    finally:
        here.close()
        process.terminate()
        process.join()
        process.close()


def _answer(names: list[str], port: int, ready: Connection) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # The parent ends us, with or without an interrupt.
    asyncio.run(_serve(names, port, ready))


async def _serve(names: list[str], port: int, ready: Connection) -> None:
    resolver = NameServer(SnapshotHosts(names, HTTP_PORT, HTTPS_PORT))
    loop = asyncio.get_running_loop()
    try:
        refuse_taken(port)
        await loop.create_datagram_endpoint(lambda: DnsUdp(resolver), sock=loopback_udp(port))
        await loop.create_server(lambda: DnsTcp(resolver), sock=every_loopback(port))
    except ListenError as error:
        ready.send(str(error))
        return
    ready.send("")
    ready.close()
    await asyncio.Event().wait()
