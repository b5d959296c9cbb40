"""Where a running crawl can be reached, and with which token: control.json in its directory."""

import os
import secrets
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec

from whimbrel.control.api import ControlError, NotRunning

CONTROL_FILE: Final = "control.json"


class Address(msgspec.Struct, frozen=True):
    url: str
    token: str
    pid: int


def publish(directory: Path, url: str) -> Address:
    """Make a token and write both down, for the owner of the directory alone."""
    address = Address(url, secrets.token_urlsafe(32), os.getpid())
    path = directory / CONTROL_FILE
    half = path.with_name(f"{CONTROL_FILE}.tmp")
    half.unlink(missing_ok=True)
    number = os.open(half, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    os.fchmod(number, 0o600)  # Whatever the umask says.
    with open(number, "wb") as file:  # noqa: PTH123 - it is open already
        file.write(msgspec.json.encode(address))
    half.replace(path)
    return address


def withdraw(directory: Path, address: Address) -> None:
    """The crawl has ended. Another may run there by now, whose address stays."""
    with suppress(ControlError):
        if read_address(directory) == address:
            (directory / CONTROL_FILE).unlink(missing_ok=True)


def read_address(directory: Path) -> Address:
    """NotRunning when no crawl runs there, ControlError when it cannot be reached."""
    try:
        found = msgspec.json.decode((directory / CONTROL_FILE).read_bytes(), type=Address)
    except FileNotFoundError:
        raise _not_running(directory) from None
    except PermissionError:
        raise ControlError(f"{directory / CONTROL_FILE} belongs to another user, who runs the crawl") from None
    except msgspec.DecodeError as error:
        raise ControlError(f"{directory / CONTROL_FILE} cannot be read: {error}") from error
    try:
        os.kill(found.pid, 0)
    except ProcessLookupError:
        raise _not_running(directory) from None
    except PermissionError:
        pass
    return found


def _not_running(directory: Path) -> ControlError:
    if not directory.is_dir():
        return ControlError(f"there is no directory {directory}")
    return NotRunning(f"no crawl runs in {directory}; `whimbrel resume {directory}` goes on with one that was stopped")
