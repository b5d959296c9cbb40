"""Values of options: durations with units, addresses with ports."""

import ipaddress

import typer

from whimbrel.job import unit


def duration_s(text: str) -> float:
    """`0.5s`, `10m`, `2h`, `1d`, `250ms`; a number alone is seconds."""
    try:
        return unit.duration_s(text)
    except unit.UnitError as error:
        raise typer.BadParameter(str(error)) from None


def server_address(text: str) -> str:
    """`ADDRESS:PORT`, checked; empty stays empty."""
    address, _, port = text.rpartition(":")
    try:
        if text:
            ipaddress.ip_address(address.strip("[]"))
            if not 0 < int(port) < 65_536:
                raise ValueError(port)  # noqa: TRY301
    except ValueError:
        raise typer.BadParameter(f"{text!r} is not ADDRESS:PORT; write for example 127.0.0.1:53") from None
    return text
