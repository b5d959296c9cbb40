"""The options of `whimbrel crawl`, some of which `resume` has too. What is not given is None: the job file decides."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer


class LogFormat(StrEnum):
    TEXT = "text"
    JSON = "json"


Seeds = Annotated[list[str] | None, typer.Argument(metavar="SEED...", help="URLs to begin with.")]
Into = Annotated[Path | None, typer.Option(help="Directory for the crawl.", show_default="HOST-DATE")]
Job = Annotated[Path | None, typer.Option(help="A job file; options given here win over it.")]
With = Annotated[
    list[Path] | None,
    typer.Option(
        "--with", resolve_path=True, metavar="FILE.py", help="Handlers, components and providers of your own."
    ),
]
SeedsFile = Annotated[
    str | None, typer.Option("--seeds", metavar="FILE", help="More seeds, one per line; - reads standard input.")
]
SeedsFrom = Annotated[
    tuple[str, str] | None,
    typer.Option("--seeds-from", metavar="URL SQL", help="More seeds, from a database: sqlite:///urls.db."),
]
Sitemap = Annotated[bool | None, typer.Option("--sitemap", help="Look for /sitemap.xml on every host.")]
Mode = Annotated[str | None, typer.Option(help="site or broad.", show_default="site")]
Scope = Annotated[
    str | None, typer.Option(help="page, prefix, host, domain or any.", show_default="host; any in broad mode")
]
Order = Annotated[str | None, typer.Option(help="breadth, depth or ascend.", show_default="breadth")]
Follow = Annotated[str | None, typer.Option(help="links, or only those that handlers make.", show_default="links")]
Requisites = Annotated[
    bool | None, typer.Option("--requisites", help="Also images, styles and scripts, one hop out of scope.")
]
MaxPages = Annotated[int | None, typer.Option(min=1, help="Stop after this many requests for pages.")]
MaxPagesPerHost = Annotated[int | None, typer.Option(min=1, help="1,000 in broad mode.")]
MaxDepth = Annotated[
    int | None,
    typer.Option(min=0, help="Hops from a seed; 0: no limit.", show_default="20; no limit with --follow handlers"),
]
MaxTime = Annotated[str | None, typer.Option(metavar="DURATION", help="Stop after this time: 10m.")]
MaxBytes = Annotated[str | None, typer.Option(metavar="SIZE", help="Stop after this many bytes: 10GB.")]
MaxFileSize = Annotated[str | None, typer.Option(metavar="SIZE", help="Of one body.", show_default="20MB")]
MaxRate = Annotated[str | None, typer.Option(metavar="SIZE/s", help="Of all traffic: 5MB/s.")]
MaxPagesPerS = Annotated[float | None, typer.Option(help="Of all requests for pages.")]
Delay = Annotated[
    str | None, typer.Option(metavar="DURATION", help="Between requests to a host, a domain, an address.")
]
Connections = Annotated[int | None, typer.Option(min=1, help="Requests at once.", show_default="64")]
Robots = Annotated[str | None, typer.Option(help="seed (strict) or rfc9309.", show_default="seed")]
UserAgent = Annotated[str | None, typer.Option(help="How the crawler names itself.")]
Contact = Annotated[str | None, typer.Option(metavar="URL|MAIL", help="Whom site owners can ask.")]
Include = Annotated[list[str] | None, typer.Option(metavar="GLOB", help="Only URLs that match one.")]
Exclude = Annotated[list[str] | None, typer.Option(metavar="GLOB", help="No URL that matches one.")]
Mime = Annotated[list[str] | None, typer.Option(metavar="TYPE", help="Types whose bodies are kept.")]
Block = Annotated[
    list[str] | None, typer.Option(metavar="HOST", help="A host or domain not to visit, or a pattern of URLs.")
]
Header = Annotated[
    list[str] | None,
    typer.Option(metavar="K:V", help="A further request header; secrets go to the seeds' origins only."),
]
Cookies = Annotated[
    Path | None, typer.Option(exists=True, dir_okay=False, resolve_path=True, help="A file of cookies to send.")
]
Proxy = Annotated[str | None, typer.Option(metavar="URL", help="A proxy for all requests.")]
AllowNetwork = Annotated[list[str] | None, typer.Option(metavar="CIDR", help="A private network that may be crawled.")]
Resolver = Annotated[str | None, typer.Option(metavar="HOST:PORT", help="Name server.")]
Ca = Annotated[Path | None, typer.Option(exists=True, dir_okay=False, resolve_path=True, help="Trusted certificates.")]
Control = Annotated[
    str | None,
    typer.Option(
        metavar="ADDRESS:PORT", help="Where `whimbrel control` reaches it; or off.", show_default="127.0.0.1:0"
    ),
]
Wiring = Annotated[str | None, typer.Option(help="A wiring or a TOML file.", show_default="standalone")]
Set = Annotated[list[str] | None, typer.Option("--set", metavar="PART.KEY=VALUE", help="A setting of one part.")]
Dashboard = Annotated[
    str | None, typer.Option(metavar="[ADDRESS:PORT]", help="Show it in the browser; alone: any free port.")
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Check everything, crawl nothing.")]
LogOption = Annotated[LogFormat, typer.Option(help="On the way: text, or JSON lines on standard error.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print the summary as JSON.")]
