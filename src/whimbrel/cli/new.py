"""`whimbrel new`."""

import re
from pathlib import Path
from typing import Annotated, Final

import typer

_HANDLERS: Final = '''"""Handlers of {name}: what is made of pages. Try them on a few:

    whimbrel crawl SEED --into out --with handlers.py --max-pages 20
    whimbrel query out "select * from article"
    whimbrel query out "select url, error from handled where outcome <> 'ok'"

After a change, on the pages that were crawled already, without fetching them again:

    whimbrel reparse out --with handlers.py
"""

import whimbrel as w


class Article(w.Item, key="url"):
    url: str
    title: str
    words: int


@w.handler(mime="text/html")
def article(page: w.Page):
    yield Article(page.url, page.title, len(page.text.split()))


@w.filter
def wanted(url: str) -> bool:
    return "logout" not in url
'''
_JOB: Final = """# whimbrel crawl --job job.toml --into out
seeds = ["https://example.org/"]
scope = "host"
contact = ""  # a URL or mail address for those whose site it is
max_pages = 100
with_files = ["handlers.py"]
"""
_README: Final = """# {name}

    whimbrel crawl --job job.toml --into out
    whimbrel query out "select * from article order by words desc limit 10"
"""


def new(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A directory to be made.")],
) -> None:
    """Make a small project: a job file, handlers, and the commands to try.

    Exit codes: 0 made, 2 usage: the directory is there already.
    """
    directory = Path(name)
    if not re.fullmatch(r"[\w.-]+", directory.name):
        raise typer.BadParameter(f"{directory.name!r}: letters, digits, dots, hyphens and underscores, please")
    if directory.exists():
        raise typer.BadParameter(f"{directory} is there already; nothing was changed")
    directory.mkdir(parents=True)
    for file, text in (("handlers.py", _HANDLERS), ("job.toml", _JOB), ("README.md", _README)):
        (directory / file).write_text(text.replace("{name}", directory.name), encoding="utf-8")
    typer.echo(f"Made {directory}. Write your seed into {directory}/job.toml, then:")
    typer.echo(f"  cd {directory} && whimbrel crawl --job job.toml --into out")
