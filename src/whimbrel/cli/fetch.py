"""`whimbrel fetch`: one URL, nothing kept."""

import asyncio
import tempfile
from itertools import chain
from pathlib import Path
from typing import Annotated, Any, Final

import msgspec
import typer

from whimbrel.cli import option
from whimbrel.clock import SystemClock
from whimbrel.dedupe.api import Fingerprinted
from whimbrel.fetch.api import Exchange
from whimbrel.fetch.curl import CurlTransport
from whimbrel.fetch.curl_option import CurlConfig
from whimbrel.fetch.resolver import DnsConfig, DnsResolver
from whimbrel.frontier.gate import PacedGate
from whimbrel.frontier.option import GateConfig
from whimbrel.frontier.permit import LocalPermits
from whimbrel.job.crawl_wiring import settings_of
from whimbrel.job.options import CrawlOptions, combined
from whimbrel.job.seed import own_hosts, seed_url
from whimbrel.parse.parser import Parser, ParserConfig
from whimbrel.qualify.api import Qualification
from whimbrel.qualify.procedure import Procedure
from whimbrel.qualify.robots import RobotsRules
from whimbrel.qualify.robots_policy import QualifyConfig
from whimbrel.state.memory import MemoryState
from whimbrel.terminal import counted, json_text, plain_console, printable
from whimbrel.url import Domains, Url
from whimbrel.visit import HostName, Request, Visit

_ROBOTS_VERDICTS: Final = {
    "allowed": "robots.txt allows this URL",
    "robots": "robots.txt forbids this URL",
    "dns": "robots.txt was not asked for",
    "private-address": "robots.txt was not asked for",
}


def fetch(
    url: Annotated[str, typer.Argument(metavar="URL", help="Without a scheme, https.")],
    user_agent: Annotated[str | None, typer.Option(help="How the crawler names itself.")] = None,
    resolver: Annotated[str | None, typer.Option(metavar="HOST:PORT", help="Name server.")] = None,
    ca: Annotated[Path | None, typer.Option(exists=True, dir_okay=False, help="Trusted certificates.")] = None,
    allow_network: Annotated[
        list[str] | None, typer.Option(metavar="CIDR", help="A private network that may be asked.")
    ] = None,
    header: option.Header = None,
    json_: Annotated[bool, typer.Option("--json", help="Print it as JSON.")] = False,
) -> None:
    """Fetch one URL as a crawl would and show all about it: the robots.txt verdict, headers, facts, links, timing.

    robots.txt is honoured here too. Exit codes: 0 fetched, 1 refused, failed or not there (404, 410), 2 usage.
    """
    own = own_hosts([url])
    layer = {
        "seeds": [url],
        "user_agent": user_agent,
        "resolver": resolver,
        "ca": None if ca is None else str(ca),
        "allow_network": allow_network,
        "header": header,
        "allow_host": [*chain(*own.values())],
    }
    options = combined([("command line", {key: value for key, value in layer.items() if value is not None})]).options
    with tempfile.TemporaryDirectory(prefix="whimbrel-fetch-") as folder:
        story = asyncio.run(_fetch(options, Path(folder)))
    if json_:
        typer.echo(json_text(story))
    else:
        for host in own:
            typer.echo(f"{host} is private; it is asked because you named it")
        _print(story)
    raise typer.Exit(0 if story["outcome"] in ("stored", "redirected") else 1)


async def _fetch(options: CrawlOptions, folder: Path) -> dict[str, Any]:
    settings = settings_of(options, folder)
    url = seed_url(options.seeds[0])
    clock = SystemClock()
    resolver = DnsResolver(msgspec.convert(settings["resolver"], DnsConfig))
    transport = CurlTransport(msgspec.convert(settings["transport"], CurlConfig))
    gate = PacedGate(GateConfig())
    gate.bind("state", MemoryState())
    gate.bind("permits", LocalPermits())
    parser = Parser(msgspec.convert(settings["parser"], ParserConfig))
    for part in (resolver, transport, gate, parser):
        part.bind("clock", clock)
        await part.open()
    try:
        domains = Domains()
        name = HostName(url.site, url.scheme, url.host, url.port, domains.registered(url.host))
        config = msgspec.convert({**settings["qualifier"], "pause_s": 0.5}, QualifyConfig)
        procedure = Procedure(config, resolver=resolver, transport=transport, gate=gate, clock=clock, domains=domains)
        found = await procedure.qualify(name, None)
        exchange = None
        verdict = _verdict(url, found, config.agent)
        if verdict == "allowed":
            await gate.enter(name, found.addresses[0], own=False)
            exchange = await transport.fetch(Request(url), found.addresses[0])
        story = _story(url, found, verdict, exchange, parser)
        story["detail"] = "; ".join(filter(None, (found.detail, gate.cut_note(found.crawl_delay_s))))
        return story
    finally:
        await transport.close()
        await resolver.close()


def _verdict(url: Url, found: Qualification, agent: str) -> str:
    if found.standing != "qualified":
        return found.reason
    rules = RobotsRules.parse(found.robots, agent) if found.robots else None
    return "allowed" if rules is None or rules.allows(url.text) else "robots"


def _story(url: Url, found: Qualification, verdict: str, exchange: Exchange | None, parser: Parser) -> dict[str, Any]:
    story: dict[str, Any] = {
        "url": url.text,
        "addresses": list(found.addresses),
        "robots": {"verdict": verdict, "status": found.robots_status, "crawl_delay_s": found.crawl_delay_s},
        "detail": found.detail,
        "outcome": "denied" if verdict.startswith("robots") else "failed",
        "reason": verdict,
    }
    if exchange is None:
        return story
    visit = Visit(Request(url), 0, "", 0, 99, exchange.address, b"")
    parsed = parser.process(Fingerprinted(visit, exchange, b""))[0]
    story |= {
        "outcome": parsed.outcome.value,
        "reason": parsed.reason,
        "elapsed_ms": round(exchange.elapsed_s * 1000, 1),
    }
    response, page = exchange.response, parsed.page
    if response is not None:
        story |= {
            "status": response.status,
            "http_version": response.http_version,
            "bytes": response.document.size,
            "headers": response.headers,
            "redirect_to": parsed.redirect_to,
        }
    if page is not None:
        facts = msgspec.to_builtins(page, enc_hook=list)
        story["page"] = {key: value for key, value in facts.items() if value and key not in ("links", "text")}
        story["links"] = facts["links"]
    return story


def _print(story: dict[str, Any]) -> None:
    console = plain_console()

    def say(line: str) -> None:
        console.print(printable(line), highlight=False, markup=False)

    robots = story["robots"]
    say(f"{story['url']}  {', '.join(story['addresses']) or 'no address that may be visited'}")
    verdict = _ROBOTS_VERDICTS.get(robots["verdict"], f"robots.txt was not obtained: {robots['verdict']}")
    say(f"{verdict} (status {robots['status']}, crawl delay {robots['crawl_delay_s']:g} s)")
    if story["detail"]:
        say(f"  {story['detail']}")
    say(f"{story['outcome']} ({story['reason']})" + (f" in {story['elapsed_ms']} ms" if "elapsed_ms" in story else ""))
    if story["reason"] == "private-address":
        say("its address is private; --allow-network names networks that may be visited")
    elif story["reason"] == "dns":
        say("its host has no address; check the name, the network, and --resolver")
    for name, value in story.get("headers", {}).items():
        say(f"  {name}: {value}")
    for name, value in story.get("page", {}).items():
        say(f"{name}: {value}")
    links = story.get("links", [])
    say(counted(len(links), "link"))
    for link in links[:40]:
        say(f"  {link['kind']:10} {link['target']}  {link['anchor'][:60]}")
