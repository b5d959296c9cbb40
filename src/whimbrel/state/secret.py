"""The secret of a crawl: the key of all its hashes, so that nobody can craft two URLs with one key.

It belongs to the crawl and not to one state: nodes and copies of a crawl must agree on the key of a URL. It is a file
of its own, written before the first commit; the state has a copy, to check it and to bring it back when it is lost.
"""

import os
import secrets
from pathlib import Path
from typing import Final, Protocol

from whimbrel.durable_file import Disk
from whimbrel.state.api import StateDamaged, StoredPairs

NAME: Final = "secret"
_KEY: Final = b"secret"
_BYTES: Final = 16


class _Pairs(Protocol):
    def get(self, space: str, key: bytes) -> bytes | None: ...

    def put(self, space: str, key: bytes, value: bytes) -> None: ...


def crawl_secret(directory: Path, state: _Pairs) -> bytes:
    """The secret of a crawl; a new one if it has none. StateDamaged when file and state do not agree."""
    copy, written = state.get("meta", _KEY), check_secret(directory, state)
    secret = written or copy or secrets.token_bytes(_BYTES)
    if written is None:
        _write(directory / NAME, secret)
    if copy is None:
        state.put("meta", _KEY, secret)
    return secret


def check_secret(directory: Path, state: "StoredPairs | _Pairs") -> bytes | None:
    """The secret of the file; None where there is none. StateDamaged when it is not the one of the state."""
    path = directory / NAME
    copy, written = state.get("meta", _KEY), _read(path)
    if written is not None and copy is not None and written != copy:
        raise StateDamaged(
            f"{path} is not the secret that {directory} was crawled with: every URL would be new. Bring back the right "
            "file, or delete this one: the state has a copy"
        )
    return written


def stored_secret(state: StoredPairs) -> bytes | None:
    """The copy that the state has; None before the first commit."""
    return state.get("meta", _KEY)


def _read(path: Path) -> bytes | None:
    try:
        found = bytes.fromhex(path.read_text("ascii"))
    except FileNotFoundError:
        return None
    except ValueError:
        found = b""
    if len(found) < _BYTES:
        raise StateDamaged(f"{path} is no secret of a crawl; delete it: the state has a copy")
    return found


def _write(path: Path, secret: bytes) -> None:
    """Whole or not at all, and durable when it returns."""
    temporary = path.with_name(f"{NAME}.tmp")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(secret.hex().encode() + b"\n")
        file.flush()
        os.fsync(file.fileno())
    disk = Disk()
    disk.replace(temporary, path)
    disk.fsync_directory(path.parent)
