"""The other side of the control interface: for the command line, for programs, and for the dashboard."""

import getpass
import http.client
import os
from pathlib import Path
from typing import Any, Final, TypeVar
from urllib.parse import urlencode, urlsplit

import msgspec

from whimbrel.control.address import Address, read_address
from whimbrel.control.api import (
    Action,
    Block,
    Checkpoint,
    ControlError,
    Done,
    Pause,
    Refused,
    Seed,
    Set,
    Speed,
    Stop,
    Unblock,
    Unpause,
    name_of,
)
from whimbrel.control.configuration import Configuration
from whimbrel.control.history import Sample
from whimbrel.control.status import HostView, Status, WiringView

_PATIENCE_S: Final = 650.0
"""A change may wait for visits under way."""
_T = TypeVar("_T")


class Control:
    """`Control("out").pause()`. The crawl must run on this machine, by the same user.

    Every call makes a request of its own; ControlError when the crawl cannot be reached, Refused when it says no.
    """

    def __init__(self, directory: "str | os.PathLike[str]", *, caller: str = "") -> None:
        """`caller` is who is named in the crawl's events; the user's name, unless given."""
        self._directory = Path(directory)
        self._caller = caller or f"{_user()} (Python)"

    def carry_out(self, action: Action) -> Done:
        """Any action (`whimbrel.control.api`); returns when it is done."""
        return self._ask("POST", f"/v1/actions/{name_of(action)}", Done, msgspec.json.encode(action))

    def pause(self) -> Done:
        """Begin no more requests; those under way end."""
        return self.carry_out(Pause())

    def unpause(self) -> Done:
        """Go on after a pause."""
        return self.carry_out(Unpause())

    def stop(self) -> Done:
        """Let the visits under way end, then end the crawl."""
        return self.carry_out(Stop())

    def checkpoint(self) -> Done:
        """Commit; returns when everything up to now is durable."""
        return self.carry_out(Checkpoint())

    def speed(self, pages_per_s: float | None = None, **other: Any) -> Done:
        """Go faster or slower; `other` are `bytes_per_s`, `connections`, `delay_s` and `of`. 0 lifts a limit."""
        return self.carry_out(Speed(pages_per_s=pages_per_s, **other))

    def block(self, *what: str) -> Done:
        """Make no more requests to hosts and domains, or for URLs that match a pattern with `*`."""
        return self.carry_out(Block(what))

    def unblock(self, *what: str) -> Done:
        """The reverse."""
        return self.carry_out(Unblock(what))

    def seed(self, *urls: str) -> Done:
        """More URLs to begin with."""
        return self.carry_out(Seed(urls))

    def set(self, settings: dict[str, Any]) -> Done:
        """Change options and settings of parts: `{"order": "depth", "router.max_depth": 5}`."""
        return self.carry_out(Set(settings))

    def status(self) -> Status:
        """The crawl at this moment, and what is wrong with it."""
        return self._ask("GET", "/v1/status", Status)

    def wiring(self) -> WiringView:
        """The live wiring, with counts."""
        return self._ask("GET", "/v1/wiring", WiringView)

    def config(self) -> Configuration:
        """The effective configuration."""
        return self._ask("GET", "/v1/config", Configuration)

    def history(self, most: int = 1_000) -> list[Sample]:
        """Numbers over time, from the oldest to the newest."""
        return self._ask("GET", f"/v1/history?most={most}", list[Sample])

    def hosts(self, search: str = "", order: str = "queued", most: int = 1_000) -> list[HostView]:
        """Hosts in memory, as they are now; `order` is queued, fetched, failed or host."""
        asked = urlencode({"search": search, "order": order, "most": most})
        return self._ask("GET", f"/v1/hosts?{asked}", list[HostView])

    def metrics(self) -> str:
        """As Prometheus reads them."""
        return self._request("GET", "/metrics", b"").decode()

    def _ask(self, method: str, path: str, kind: type[_T], body: bytes = b"") -> _T:
        data = self._request(method, path, body)
        try:
            return msgspec.json.decode(data, type=kind)
        except msgspec.DecodeError as error:
            raise ControlError(f"the crawl's answer cannot be read: {error}; is it of another version?") from error

    def _request(self, method: str, path: str, body: bytes) -> bytes:
        address = read_address(self._directory)
        try:
            status, data = self._exchange(address, method, path, body)
        except (OSError, http.client.HTTPException) as error:
            raise ControlError(f"the crawl in {self._directory} does not answer: {error}") from error
        if status == http.client.OK:
            return data
        text = _error(data) or f"status {status}"
        raise (Refused if status in (409, 422) else ControlError)(text)

    def _exchange(self, address: Address, method: str, path: str, body: bytes) -> tuple[int, bytes]:
        where = urlsplit(address.url)
        connection = http.client.HTTPConnection(where.hostname or "", where.port, timeout=_PATIENCE_S)
        headers = {"Authorization": f"Bearer {address.token}", "X-Whimbrel-Caller": self._caller}
        if method == "POST":
            headers["Content-Type"] = "application/json"
        try:
            connection.request(method, path, body or None, headers)
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()


def _error(data: bytes) -> str:
    try:
        found: Any = msgspec.json.decode(data)
    except msgspec.DecodeError:
        return ""
    return str(found.get("error", "")) if isinstance(found, dict) else ""


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return str(os.getuid())
