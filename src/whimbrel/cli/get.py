"""`whimbrel get`."""

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import msgspec
import typer

if TYPE_CHECKING:
    from whimbrel.query.document import Document

_CONTROL: Final = re.compile(r"[\x00-\x08\x0b\x0e-\x1f\x7f-\x9f]")


def get(
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="A crawl, running or not.")],
    url: Annotated[str, typer.Argument(metavar="URL", help="As the table `pages` has it.")],
    head: Annotated[bool, typer.Option("--head", help="Print the head of the answer, not the body.")] = False,
    json_: Annotated[bool, typer.Option("--json", help="Print its row, headers and the length of the body.")] = False,
    out: Annotated[Path | None, typer.Option("--out", metavar="FILE", help="Write the body to a file.")] = None,
) -> None:
    """Print a document as it was crawled, from the archive: nothing is fetched.

    Content codings such as gzip are taken off. A duplicate has the body of the page it repeats. Exit codes: 0 printed,
    1 there is no such document or it is damaged, 2 usage.
    """
    found = _document(directory, url)
    if json_:
        shown: dict[str, Any] = {**found.row, "headers": found.headers, "body_bytes": len(found.body)}
        _print(msgspec.json.encode(shown, enc_hook=str) + b"\n")
    elif head:
        _print_for_people(found.http_head)
    elif out is not None:
        out.write_bytes(found.body)
        typer.echo(f"{len(found.body):,} bytes to {out}", err=True)
    else:
        _print_for_people(found.body)


def _document(directory: Path, url: str) -> "Document":
    from whimbrel.query.crawl_data import CrawlData
    from whimbrel.url import parse

    wanted = parse(url if "://" in url else f"https://{url}")
    if wanted is None:
        raise typer.BadParameter(f"{url} is no http or https URL")
    found = CrawlData([directory]).get(wanted.text)
    if found is None:
        typer.echo(
            f"whimbrel: no document of {wanted.text}; `whimbrel why {directory} {wanted.text}` says why", err=True
        )
        raise typer.Exit(1)
    return found


def _print_for_people(data: bytes) -> None:
    """What a page says must not reach a terminal as it is: an escape sequence could rewrite the screen."""
    if sys.stdout.isatty() and _CONTROL.search(data.decode(errors="replace")):
        raise typer.BadParameter("the body is not plain text; send it to a file with --out FILE or >")
    _print(data)


def _print(data: bytes) -> None:
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()
