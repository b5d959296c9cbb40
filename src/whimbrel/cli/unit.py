"""Values of options: durations with units."""

import typer

from whimbrel.job import unit


def duration_s(text: str) -> float:
    """`0.5s`, `10m`, `2h`, `1d`, `250ms`; a number alone is seconds."""
    try:
        return unit.duration_s(text)
    except unit.UnitError as error:
        raise typer.BadParameter(str(error)) from None
