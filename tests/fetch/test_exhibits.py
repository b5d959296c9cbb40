"""Every exhibit about connections, codings, redirects and statuses, over HTTP/1.1, TLS and HTTP/2."""

import asyncio
import gzip

import pytest

from tests.fetch.rig import request, response, run, transport, url
from tests.sim.web import Served
from whimbrel.fetch.api import Exchange
from whimbrel.simweb.answer import Reply, SimRequest
from whimbrel.simweb.exhibit import PAGE_EXHIBITS
from whimbrel.simweb.host import SimHost

FAMILIES = ("connection", "coding", "redirect", "status")
NAMES = [name for name, exhibit in PAGE_EXHIBITS.items() if exhibit.family in FAMILIES]
WAYS = ("http", "tls", "http2")
MAX_BYTES = 2_000_000
LIMITS = {
    "first_byte_timeout_s": 3.0,
    "idle_timeout_s": 2.0,
    "min_speed_window_s": 1.5,
    "min_bytes_per_s": 100,
    "timeout_s": 20.0,
    "max_bytes": MAX_BYTES,
}
Observed = dict[str, dict[str, Exchange]]


def host_for(web: Served, way: str, name: str) -> SimHost:
    """A host of its own for each exhibit: over HTTP/2 a reset would take others with it."""
    wanted = "http" if way == "http" else "https"
    hosts = [host for host in map(web.web.hosts.get, range(web.web.spec.hosts)) if host.scheme == wanted]
    return hosts[NAMES.index(name)]


async def observe(web: Served, way: str) -> dict[str, Exchange]:
    async with transport(ca=web.running.ca, http2=way == "http2", **LIMITS) as made:
        hosts = [host_for(web, way, name) for name in NAMES]
        asked = [
            made.fetch(request(f"{host.origin}/x/{name}/{WAYS.index(way)}"), host.addresses[0])
            for name, host in zip(NAMES, hosts, strict=True)
        ]
        return dict(zip(NAMES, await asyncio.gather(*asked), strict=True))


@pytest.fixture(scope="session")
def observed(web: Served) -> Observed:
    """All exhibits at once, since several take their time."""

    async def scene() -> Observed:
        # The server makes its bombs when they are first asked for, and can do nothing else meanwhile.
        host = host_for(web, "http", "reset")
        async with transport() as made:
            for name in NAMES:
                if name.startswith("bomb-"):
                    await made.fetch(request(f"{host.origin}/x/{name}/9"), host.addresses[0])
        return dict(zip(WAYS, await asyncio.gather(*(observe(web, way) for way in WAYS)), strict=True))

    return run(scene())


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", NAMES)
def test_an_exhibit_is_seen_as_it_is(web: Served, observed: Observed, name: str, way: str) -> None:
    exchange = observed[way][name]
    host = host_for(web, way, name)
    place = web.web.exhibit(host, f"/x/{name}/{WAYS.index(way)}")
    assert place is not None
    finding = place[0].judge(place[1])
    if finding.outcome == "failed" and not finding.reason.startswith(("http-", "bad-redirect", "redirect-limit")):
        assert (exchange.response, exchange.trouble) == (None, finding.reason)
        assert exchange.connected
        return
    found = response(exchange)
    assert found.http_version == {"http10": "1.0"}.get(name, "1.1") if way != "http2" else found.http_version == "2"
    answer = place[0].respond(place[1], SimRequest("GET", host.name, f"/x/{name}/{WAYS.index(way)}"))
    assert found.status == answer.status
    if isinstance(answer, Reply):
        body = found.document.read()
        coded = found.header("content-encoding") == "gzip" and "Content-Encoding" not in dict(answer.headers)
        assert (gzip.decompress(body) if coded else body) == answer.body
        for header, value in answer.headers:
            if header != "Retry-After":
                assert found.header(header.lower()) == value
    elif name == "body-endless":
        assert (found.truncated, found.document.size) == ("length", MAX_BYTES)
    else:
        assert found.document.read() == place[1].document().encode()
    assert (found.truncated == "length") is (name == "body-endless")
    found.document.close()


@pytest.mark.parametrize("way", WAYS)
def test_heads_are_whole_and_hold_no_interim_answers(observed: Observed, way: str) -> None:
    found = response(observed[way]["interim"])
    lines = found.head.split(b"\r\n")
    assert lines[0] == (b"HTTP/2 200 OK" if way == "http2" else b"HTTP/1.1 200 OK")
    assert lines[-1] == b""
    assert all(lines[:-1])
    assert not any(line.lower().startswith(b"link:") for line in lines)
    assert "link" not in found.headers


@pytest.mark.parametrize("way", WAYS)
def test_the_request_is_on_record_whatever_came_of_it(web: Served, observed: Observed, way: str) -> None:
    for name, exchange in observed[way].items():
        assert exchange.request_head.startswith(f"GET /x/{name}/{WAYS.index(way)} HTTP/1.1\r\nHost: ".encode())
        assert exchange.address == host_for(web, way, name).addresses[0]
        assert exchange.elapsed_s < 8


@pytest.mark.parametrize("way", WAYS)
def test_a_connection_that_is_reset_when_it_is_used_again_is_trouble_once_and_then_an_answer(
    web: Served, way: str
) -> None:
    host = next(
        host
        for host in map(web.web.hosts.get, range(299, 0, -1))
        if host.scheme == ("http" if way == "http" else "https")
    )

    async def scene() -> None:
        async with transport(ca=web.running.ca, http2=way == "http2") as made:
            where = url(f"{host.origin}/x/reset-reused/5")
            response(await made.fetch(request(f"{host.origin}/"), host.addresses[0]))
            first = await made.fetch(request(where.text), host.addresses[0])
            assert (first.trouble, first.connected) == ("reset", True)
            assert first.request_head
            assert response(await made.fetch(request(where.text), host.addresses[0])).status == 200

    run(scene())
