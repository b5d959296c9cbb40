"""`whimbrel why`: the whole story of one URL."""

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from whimbrel.offline.explain import Explainer, NotAUrl, UrlStory, as_dict
from whimbrel.terminal import json_text, plain_console, printable


def why(
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="The crawl's directory.")],
    url: Annotated[str, typer.Argument(metavar="URL", help="Any URL; without a scheme, https.")],
    json_: Annotated[bool, typer.Option("--json", help="Print it as JSON.")] = False,
) -> None:
    """Tell what became of a URL, and why: who links to it, each visit, its outcome, its place in the archive.

    Exit codes: 0 told, also when the crawl does not know the URL; 2 there is no crawl, or it is no URL.
    """
    with Explainer(directory) as explainer:
        try:
            story = explainer.story(url)
        except NotAUrl as error:
            raise typer.BadParameter(str(error)) from error
    if json_:
        typer.echo(json_text(as_dict(story)))
    else:
        _print(plain_console(), story)


def _print(console: Console, story: UrlStory) -> None:
    def say(line: str) -> None:
        console.print(printable(line), highlight=False, markup=False)

    for visit in story.visits:
        status = f", status {visit['status']}" if visit["status"] else ""
        source = f", found on {visit['discovered_from']}" if visit["discovered_from"] else ""
        target = f" to {visit['redirect_to']}" if visit["redirect_to"] else ""
        ended = f"{visit['outcome']} ({visit['reason']}{status}){target}"
        say(f"{_when(visit['started_at'])}  {ended}, try {visit['attempt']}{source}")
    for capture in story.captures:
        same = f", the same as {capture['duplicate_of']}" if capture["duplicate_of"] else ""
        place = f"{capture['warc_file']} at {capture['warc_offset']:,} ({capture['warc_length']:,} bytes)"
        say(f"{_when(capture['fetched_at'])}  capture kept in {place}: {capture['outcome']}{same}")
    for page in story.page:
        gone = f", gone at {_when(page['gone_at'])}" if page["gone_at"] is not None else ""
        say(f"its page is the capture of {_when(page['fetched_at'])}, confirmed at {_when(page['checked_at'])}{gone}")
    for link in story.linked_from:
        say(f"linked from {link['source']} as {link['anchor']!r} ({link['kind']})")
    if story.linked_from and story.linked_from[0]["total"] > len(story.linked_from):
        say(f"… and {story.linked_from[0]['total'] - len(story.linked_from):,} more links")
    for redirect in story.redirected_from:
        say(f"redirected from {redirect['url']}")
    for host in story.host:
        said = f"; the last error there, of whichever URL: {host['last_error']}" if host["last_error"] else ""
        say(f"its host is {host['qualification']}, {host['queued']:,} URLs queued there{said}")
    for sentence in story.explanation:
        say(sentence)


def _when(at: Any) -> str:
    return f"{at:%Y-%m-%d %H:%M:%S}" if at is not None else "at no time"
