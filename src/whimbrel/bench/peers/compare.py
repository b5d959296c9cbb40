"""All peers on all corpora, round after round, so that a slow spell of the machine hits each of them."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

from whimbrel.bench.peers.api import (
    DNS_PORT,
    PUBLIC_DNS_PORT,
    AbsentPeer,
    CorpusSpec,
    Peer,
    PeerRun,
    PeersPlan,
    PeersResult,
    PeerTask,
)
from whimbrel.bench.peers.corpus import Corpus
from whimbrel.bench.peers.measure import Attempt, measure
from whimbrel.bench.peers.runner import peers
from whimbrel.bench.peers.server import CorpusServer, find_server

NOT_PRIVATE = "it cannot be told a name server, and this machine gives us no private network (needs root)"
NO_ITEMS = "it takes no items out of pages, or has no spider for these"


def compare(plan: PeersPlan, say: Callable[[str], None]) -> PeersResult:
    cores = sorted(os.sched_getaffinity(0))
    # Servers and this process on one core, whoever crawls on the other.
    own, core = (cores[0], cores[1]) if len(cores) > 1 else (cores[0], None)
    os.sched_setaffinity(0, {own})
    present: list[Peer] = []
    versions, absent = {}, []
    for peer in peers(Path(plan.peers_env)):
        if plan.peers and peer.name not in plan.peers:
            continue
        version = peer.version()
        reason = "not installed" if version is None else NOT_PRIVATE
        if version is None or (peer.needs_private and not plan.is_private):
            absent += [AbsentPeer(spec.name, peer.name, reason) for spec in plan.corpora]
        else:
            absent += [AbsentPeer(spec.name, peer.name, NO_ITEMS) for spec in plan.corpora if not _can(peer, spec)]
            present.append(peer)
            versions[peer.name] = version
    state = Path(plan.work) / "state"
    shutil.rmtree(state, ignore_errors=True)  # of a comparison that was killed
    state.mkdir()
    try:
        served = [_served(plan, spec, say) for spec in plan.corpora]
        runs = [
            _run(plan, peer, corpus, server, (number, core), say)
            for number in range(1, plan.rounds + 1)
            for corpus, server in served
            for peer in present
            if _can(peer, corpus.spec)
        ]
    finally:
        shutil.rmtree(state)
    return PeersResult(
        server=served[0][1].name if served else "",
        cores=f"servers on core {own}, crawlers on core {core}" if core is not None else "one core for all",
        pages={spec.name: spec.all_pages for spec in plan.corpora},
        versions=versions,
        settings={peer.name: peer.settings for peer in present},
        runs=runs,
        absent=absent,
    )


def _can(peer: Peer, spec: CorpusSpec) -> bool:
    return peer.extracts or spec.name != "quotes"


def _served(plan: PeersPlan, spec: CorpusSpec, say: Callable[[str], None]) -> tuple[Corpus, CorpusServer]:
    corpus = Corpus(spec, Path(plan.work) / spec.name)
    corpus.prepare(say)
    state = Path(plan.work) / "state" / spec.name
    state.mkdir()
    return corpus, find_server(corpus, state, is_private=plan.is_private)


def _run(
    plan: PeersPlan,
    peer: Peer,
    corpus: Corpus,
    server: CorpusServer,
    place: tuple[int, int | None],
    say: Callable[[str], None],
) -> PeerRun:
    number, core = place
    spec = corpus.spec
    seeds = corpus.seeds(plan.sample if spec.name in peer.sampled else None)
    attempt = Attempt(spec.name, number, corpus.pages_of(seeds), core, plan.timeout_s)
    say(f"{spec.name}, round {number}: {peer.name}, {attempt.expected:,} pages")
    state = Path(plan.work) / "state" / spec.name / f"{peer.name}-{number}"
    into = state / "kept"
    into.mkdir(parents=True)
    seed_file = state / "seeds.txt"
    seed_file.write_text("\n".join(seeds) + "\n", encoding="ascii")
    dns_port = DNS_PORT if plan.is_private else PUBLIC_DNS_PORT
    with server.serving(state, dns_port) as log:
        visit = PeerTask(
            corpus=spec.name,
            seeds=seeds,
            seed_file=str(seed_file),
            into=str(into),
            ca=str(server.ca),
            resolver=f"127.0.0.1:{dns_port}",
            connections=plan.connections,
        )
        finish = measure(peer, visit, attempt, state)
    return finish(log.pages())
