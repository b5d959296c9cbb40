"""`whimbrel verify`: is everything there that the last commit promises, and intact."""

from pathlib import Path
from typing import Annotated

import typer

from whimbrel.commit.committed import read_committed
from whimbrel.offline.unchecked import unchecked_parts
from whimbrel.offline.verify import problems
from whimbrel.terminal import counted, plain_console, size


def verify(
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="The crawl's directory.")],
) -> None:
    """Read the whole archive, all tables and the state, and compare them with each other and with the last commit. It
    lists a digest of every file that is complete. What could not be checked is named, too.

    Exit codes: 0 all is well, 1 something is wrong and named, 2 there is no crawl.
    """
    committed = read_committed(directory)
    console = plain_console()
    unchecked = unchecked_parts(directory, committed)
    found = list(problems(directory, committed))
    for problem in found:
        console.print(f"{problem.file} at {problem.offset:,}: {problem.what}", style="red", markup=False)
    if found:
        console.print(f"{counted(len(found), 'problem')}.", style="bold red")
        raise typer.Exit(1)
    archived = size(sum(committed.archive().values()))
    parts = "all tables" if unchecked.state else "all tables and the state"
    console.print(f"Commit {committed.number:,}: {archived} of archive, {parts} are intact.", highlight=False)
    for sentence in unchecked.sentences():
        console.print(sentence, highlight=False)
