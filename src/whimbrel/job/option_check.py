"""Values of options that their types cannot tell right from wrong."""

import ipaddress
from collections.abc import Callable
from typing import Any, Final

from whimbrel.fetch.network import own_networks
from whimbrel.url.block_list import BlockList, HostNames, is_pattern
from whimbrel.url.userinfo import redacted_url

_LEAST: Final = {
    "max_pages": 1,
    "max_pages_per_host": 1,
    "max_depth": 0,
    "max_time": 0,
    "max_bytes": 1,
    "max_file_size": 1,
    "max_rate": 1,
    "delay": 0,
    "connections": 1,
    "max_pages_per_s": 0.001,
}
_PROXIES: Final = ("http://", "https://", "socks4://", "socks4a://", "socks5://", "socks5h://")


def trouble(name: str, value: Any) -> str:
    """What is wrong with the value of an option, and what to write instead; empty when nothing is."""
    least = _LEAST.get(name)
    if least is not None and value is not None and not value >= least:
        return f"{value} is less than {least}"
    check = _CHECKS.get(name)
    return "" if check is None else check(value)


def _networks(values: tuple[str, ...]) -> str:
    for value in values:
        try:
            ipaddress.ip_network(value, strict=False)
        except ValueError:
            return f"{value!r} is not a network; write for example 127.0.0.0/8 or fd00::/8"
    return ""


def _own_hosts(values: tuple[str, ...]) -> str:
    for value in values:
        host, _, port = value.rpartition(":")
        if not (own_networks(host) and port.isascii() and port.isdigit()):
            return f"{value!r} is not HOST:PORT of a private address; write for example localhost:8000 or 10.0.0.7:80"
    return ""


def _server(value: str) -> str:
    address, _, port = value.rpartition(":")
    try:
        if value:
            ipaddress.ip_address(address.strip("[]"))
            if not (port.isascii() and port.isdigit() and 0 < int(port) < 65_536):
                raise ValueError(port)  # noqa: TRY301
    except ValueError:
        return f"{value!r} is not ADDRESS:PORT; write for example 127.0.0.1:53"
    return ""


def _proxy(value: str) -> str:
    if value and not value.lower().startswith(_PROXIES):
        return f"{redacted_url(value)!r} is not the URL of a proxy; write for example http://127.0.0.1:3128"
    return ""


def _delays(values: dict[str, float]) -> str:
    for host, delay in values.items():
        if not delay >= 0:
            return f"{host}: {delay} is less than 0"
    try:
        HostNames(values)
    except ValueError as error:
        return str(error).replace("cannot block ", "")
    return ""


def _block(values: tuple[str, ...]) -> str:
    try:
        BlockList(name for name in values if not is_pattern(name))
    except ValueError as error:
        return str(error)
    return ""


def _control(value: str) -> str:
    return "" if value == "off" else _server(value.removesuffix(":0") + ":1" if value.endswith(":0") else value)


_CHECKS: Final[dict[str, Callable[[Any], str]]] = {
    "allow_network": _networks,
    "allow_host": _own_hosts,
    "resolver": _server,
    "proxy": _proxy,
    "delays": _delays,
    "block": _block,
    "control": _control,
}
