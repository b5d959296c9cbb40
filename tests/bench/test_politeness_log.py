"""Real logs, made by curl and by many sockets, are judged; the webs of the experiments can be served."""

import asyncio
import shutil
import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import dns.message
import dns.query
import msgspec
import pytest

from tests.sim.web import Served, serve
from whimbrel.bench.politeness import Violation, judge
from whimbrel.bench.politeness.etiquette import Etiquette, with_delay
from whimbrel.bench.politeness.run import PolitenessPlan, web_spec
from whimbrel.bench.politeness.wide import WidePlan, outcome
from whimbrel.bench.politeness.wide import web_spec as wide_spec
from whimbrel.simweb.host import SimHost
from whimbrel.simweb.server.control import ask
from whimbrel.simweb.server.log import LoggedExchange, read_log
from whimbrel.simweb.spec import WebSpec
from whimbrel.simweb.web import Web

QUICK = msgspec.structs.replace(with_delay(0.001), first_page_s=0.001, qualify_pause_s=0.001)
"""What one curl after the other keeps to: starting one takes longer."""


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    if shutil.which("curl") is None:
        pytest.skip("curl is not installed")
    with serve(WebSpec(hosts=40, robots={}), tmp_path_factory.mktemp("web") / "state") as web:
        yield web


def curl(served: Served, *urls: str, options: tuple[str, ...] = ()) -> None:
    where = []
    for url in urls:
        host = host_at(served, url)
        where += ["--resolve", f"{host.name}:{host.port}:{host.addresses[0]}", "-o", "/dev/null", url]
    command = ["curl", "-sS", "--noproxy", "*", "--http1.1", "-m", "10", *options, *where]
    subprocess.run(command, capture_output=True, timeout=30, check=False)


def host_at(served: Served, url: str) -> SimHost:
    host = served.web.hosts.find(url.split("/")[2].partition(":")[0])
    assert host is not None
    return host


def log_of(served: Served, *hosts: SimHost) -> list[LoggedExchange]:
    ask(Path(served.running.control), {"do": "status"})
    names = {host.name for host in hosts}
    return [e for e in read_log(Path(served.running.log)) if e.host in names]


def judged(served: Served, etiquette: Etiquette, *hosts: SimHost) -> list[Violation]:
    return judge(log_of(served, *hosts), served.web, etiquette)


def test_a_log_that_curl_made_slowly_is_clean_and_under_longer_delays_is_not(served: Served) -> None:
    host = served.web.hosts.get(0)
    for target in ("/robots.txt", "/", "/about/12.html", "/x/status-404/1"):
        curl(served, host.origin + target)
    assert judged(served, QUICK, host) == []
    counts = Counter(violation.rule for violation in judged(served, with_delay(5.0), host))
    assert counts == {"host-delay": 2, "domain-delay": 3, "ip-delay": 3, "first-page": 1}


def test_a_log_that_curl_made_with_two_requests_at_once_is_not_clean(served: Served) -> None:
    host = served.web.hosts.get(4)
    curl(served, host.origin + "/robots.txt")
    curl(
        served, host.origin + "/x/slow-start/1", host.origin + "/x/slow-start/2", options=("-Z", "--parallel-immediate")
    )
    assert [violation.rule for violation in judged(served, with_delay(0.0), host)] == ["in-flight"]


def test_a_log_that_curl_made_against_robots_txt_and_retry_after_is_not_clean(served: Served) -> None:
    host = served.web.hosts.find("robots-rules.exhibit.test")
    assert host is not None
    for target in ("/robots.txt", "/private/10.html", "/x/retry-seconds-503/1", "/x/found/1", "/x/found/1"):
        curl(served, host.origin + target)
    found = judged(served, QUICK, host)
    assert [violation.rule for violation in found] == ["robots", "retry-after", "retry-after", "again"]


def test_a_client_that_gives_up_is_logged_when_it_does(served: Served) -> None:
    host = served.web.hosts.get(8)
    curl(served, host.origin + "/robots.txt")
    curl(served, host.origin + "/x/stall/1", options=("-m", "0.3"))
    (stalled,) = (e for e in log_of(served, host) if e.served == "stall")
    assert 0.1 < stalled.end - stalled.start < 0.6


async def _ask_all(hosts: list[SimHost]) -> int:
    """One connection per host, all waiting at once; returns how many answered 200."""

    async def one(host: SimHost) -> bool:
        reader, writer = await asyncio.open_connection(host.addresses[0], host.port)
        writer.write(f"GET / HTTP/1.1\r\nHost: {host.name}\r\nConnection: close\r\n\r\n".encode())
        answer = await reader.read()
        writer.close()
        await writer.wait_closed()
        return answer.startswith(b"HTTP/1.1 200 ")

    return sum(await asyncio.gather(*map(one, hosts)))


def test_two_thousand_hosts_that_take_a_second_each_answer_side_by_side(tmp_path: Path) -> None:
    plan = WidePlan(pages=1)
    with serve(wide_spec(plan), tmp_path / "state") as served:
        hosts = [served.web.hosts.get(number) for number in range(plan.hosts)]
        assert {host.latency_s for host in hosts} == {1.0}
        began = time.monotonic()
        assert asyncio.run(_ask_all(hosts)) == 2_000
        assert time.monotonic() - began < 20
    found = outcome(read_log(tmp_path / "state" / "access.tsv"), plan, cpu_s=4.0)
    assert (found.pages, found.cpu_ms_per_page) == (2_000, 2.0)
    assert found.peak_in_flight > 1_000
    assert 0 < found.share <= 1


def test_ten_thousand_hosts_can_be_at_one_address(tmp_path: Path) -> None:
    spec = WebSpec(hosts=10_000, cdn=1.0, robots={})
    with serve(spec, tmp_path / "state") as served:
        hosts = [served.web.hosts.get(number) for number in range(10_000)]
        assert {host.addresses for host in hosts} == {("127.2.0.1",)}
        for host in hosts[::50]:
            query = dns.message.make_query(host.name, "A")
            answer = dns.query.udp(query, "127.0.0.1", timeout=5, port=served.running.dns_port)
            assert [item.to_text() for item in answer.answer[0]] == ["127.2.0.1"]
        assert asyncio.run(_ask_all(hosts[:500])) == 500


def test_the_web_of_the_experiment_has_what_manners_are_about() -> None:
    web = Web(web_spec(PolitenessPlan()))
    hosts = [web.hosts.get(number) for number in range(web.spec.hosts)]
    assert len(hosts) == 4_000
    domains: dict[str, set[str]] = {}
    for host in hosts:
        domains.setdefault(host.addresses[0], set()).add(host.name.split(".", 1)[1])
    sizes = sorted(map(len, domains.values()))
    assert sizes[-1] > 200, "an address that only a cap protects"
    assert sum(1 < size <= 50 for size in sizes) > 50, "addresses with a clock that several domains share"
    assert {"crawl-delay", "redirect-host", "error-503", "rules"} <= {host.robots for host in hosts}
