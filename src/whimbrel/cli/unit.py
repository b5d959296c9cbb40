"""Values of options: durations with units, addresses with ports."""

import ipaddress
import re
from typing import Final

import typer

_SECONDS: Final = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}


def duration_s(text: str) -> float:
    """`0.5s`, `10m`, `2h`, `1d`, `250ms`; a number alone is seconds."""
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*(ms|s|m|h|d)?\s*", text)
    if match is None:
        raise typer.BadParameter(f"{text!r} is not a duration; write for example 0.5s, 10m or 2h")
    return float(match[1]) * _SECONDS[match[2] or "s"]


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
