"""What a process does to the files of one directory, from outside: the output of `strace` as a log to be replayed.

The log has the entries of `recording_disk`. A write counts when its call has returned, and so does a sync; that no file
is written to while it is being synced is checked, or the sync would promise too much.
"""

import os
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final

from tests.fault.recording_disk import Entry
from whimbrel.commit.committed import decode

_CALLS: Final = (
    *("openat", "creat", "close", "dup", "dup2", "dup3", "fcntl", "write", "writev", "pwrite64", "pwritev", "pwritev2"),
    *("fsync", "fdatasync", "rename", "renameat", "renameat2", "unlink", "unlinkat", "rmdir", "ftruncate", "truncate"),
    *("mkdir", "mkdirat", "link", "linkat", "symlink", "symlinkat", "fallocate", "copy_file_range", "sendfile", "mmap"),
)
_LINE: Final = re.compile(r"(?P<pid>\d+) +(?:<\.\.\. (?P<resumed>\w+) resumed>|(?P<name>\w+)\()(?P<rest>.*)")
_TEXT: Final = re.compile(r'"((?:\\x[0-9a-f]{2})*)"')
_UNFINISHED: Final = " <unfinished ...>"


def command(output: Path) -> list[str]:
    """To be put before the command that is watched."""
    everything = ["-f", "-xx", "-s", str(100_000_000), "-e", "signal=none", "-e", f"trace={','.join(_CALLS)}"]
    return ["strace", *everything, "-o", str(output)]


def read_log(output: Path, root: Path) -> list[Entry]:
    """What happened below `root`, which did not exist before."""
    reader = _Reader(root)
    with output.open(encoding="ascii") as lines:
        reader.read(lines)
    return reader.log


class _Open:
    """An open file: its number, or the directory that it is; and where the next plain write goes."""

    def __init__(self, file: int, folder: str = "") -> None:
        self.file, self.folder, self.at = file, folder, 0


class _Reader:
    def __init__(self, root: Path) -> None:
        self.log: list[Entry] = []
        self._root = root
        self._names: dict[str, int] = {}
        self._last_data: dict[int, bytes] = {}
        self._open: dict[int, _Open] = {}
        self._unfinished: dict[str, str] = {}
        self._syncing: dict[str, int] = {}
        self._count = 0
        self._do: dict[str, Callable[[str, int], None]] = {
            "openat": self._opened,
            "close": self._closed,
            "rename": self._renamed,
            "unlink": self._unlinked,
            "mkdir": self._made,
            "ftruncate": self._truncated,
            "mmap": self._mapped,
            "fallocate": self._allocated,
            **dict.fromkeys(("dup", "dup2", "dup3", "fcntl"), self._copied),
            **dict.fromkeys(("write", "writev"), self._written),
            **dict.fromkeys(("pwrite64", "pwritev", "pwritev2"), self._written_at),
            **dict.fromkeys(("fsync", "fdatasync"), self._synced),
        }

    def read(self, lines: Iterable[str]) -> None:
        for line in lines:
            found = _LINE.fullmatch(line.rstrip("\n"))
            if found is None:
                continue
            pid, name, rest = found["pid"], found["name"], found["rest"]
            if found["resumed"] == "close":
                continue
            if found["resumed"]:
                name, rest = found["resumed"], self._unfinished.pop(pid, "") + rest
                self._syncing.pop(pid, None)
            elif rest.endswith(_UNFINISHED):
                if name == "close":
                    # Another thread may get the number before this one says that it is free.
                    self._closed(rest.removesuffix(_UNFINISHED), 0)
                    continue
                self._unfinished[pid] = rest.removesuffix(_UNFINISHED)
                if name in ("fsync", "fdatasync"):
                    self._syncing[pid] = _first(rest)
                continue
            arguments, _, result = rest.rpartition(" = ")
            value = result.split(" ", 1)[0]
            if not value.startswith(("-", "?")):
                self._apply(name, arguments.rstrip().removesuffix(")"), int(value, 0))

    def _apply(self, name: str, arguments: str, result: int) -> None:
        if name in self._do:
            self._do[name](arguments, result)
        elif any(self._name(path) for path in _texts(arguments)):
            raise ValueError(f"{name} is not replayed: {arguments[:200]}")

    def _name(self, path: bytes) -> str:
        """Relative to the root; empty for what is elsewhere."""
        found = Path(os.fsdecode(path))
        return found.relative_to(self._root).as_posix() if found.is_relative_to(self._root) else ""

    def _opened(self, arguments: str, fd: int) -> None:
        self._open.pop(fd, None)
        name = self._name(_texts(arguments)[0])
        if not name:
            return
        if "O_CREAT" in arguments and name not in self._names:
            self._count += 1
            self._names[name] = self._count
            self.log.append(Entry("create", name, self._count))
        if name not in self._names or name == ".":
            self._open[fd] = _Open(0, name)
            return
        file = self._names[name]
        self._open[fd] = _Open(file)
        if "O_TRUNC" in arguments:
            self.log.append(Entry("truncate", "", file, 0))

    def _closed(self, arguments: str, _: int) -> None:
        self._open.pop(_first(arguments), None)

    def _copied(self, arguments: str, fd: int) -> None:
        if _first(arguments) in self._open and ("F_" not in arguments or "F_DUPFD" in arguments):
            self._open[fd] = self._open[_first(arguments)]

    def _written(self, arguments: str, size: int) -> None:
        target = self._open.get(_first(arguments))
        if target is not None:
            self._write(target.file, target.at, arguments, size)
            target.at += size

    def _written_at(self, arguments: str, size: int) -> None:
        target = self._open.get(_first(arguments))
        if target is not None:
            behind = arguments.rpartition("]")[2] or arguments.rpartition('"')[2]
            numbers = [int(number) for number in behind.split(",") if number.strip().isdigit()]
            self._write(target.file, numbers[1], arguments, size)

    def _write(self, file: int, at: int, arguments: str, size: int) -> None:
        if any(self._open.get(fd, _Open(-1)).file == file for fd in self._syncing.values()):
            raise ValueError("a file is written to while it is being synced")
        data = b"".join(_texts(arguments))[:size]
        self._last_data[file] = data
        self.log.append(Entry("write", "", file, at, data))

    def _synced(self, arguments: str, _: int) -> None:
        target = self._open.get(_first(arguments))
        if target is not None and target.folder:
            self.log.append(Entry("sync-names", target.folder))
        elif target is not None:
            self.log.append(Entry("sync", "", target.file))

    def _truncated(self, arguments: str, _: int) -> None:
        target = self._open.get(_first(arguments))
        if target is not None:
            self.log.append(Entry("truncate", "", target.file, int(arguments.rpartition(",")[2])))

    def _renamed(self, arguments: str, _: int) -> None:
        source, target = (self._name(path) for path in _texts(arguments))
        if not source:
            return
        number = self._names[target] = self._names.pop(source)
        self.log.append(Entry("replace", source, number, value=target))
        if target == "COMMITTED":
            self.log.append(Entry("mark", "", value=decode(self._last_data[number], target)))

    def _unlinked(self, arguments: str, _: int) -> None:
        name = self._name(_texts(arguments)[0])
        if name:
            self._names.pop(name, None)
            self.log.append(Entry("unlink", name))

    def _made(self, arguments: str, _: int) -> None:
        name = self._name(_texts(arguments)[0])
        if name and name != ".":
            self.log.append(Entry("mkdir", name))

    def _mapped(self, arguments: str, _: int) -> None:
        fd = arguments.split(", ")[4]
        if "PROT_WRITE" in arguments and "MAP_SHARED" in arguments and int(fd) in self._open:
            raise ValueError("a file is written to through memory, which nobody can see from outside")

    def _allocated(self, arguments: str, _: int) -> None:
        if _first(arguments) in self._open and "KEEP_SIZE" not in arguments:
            raise ValueError("room that changes a file's length is not replayed")


def _first(arguments: str) -> int:
    """The first argument, a file descriptor."""
    found = re.match(r"\d+", arguments)
    return int(found[0]) if found else -1


def _texts(arguments: str) -> list[bytes]:
    return [bytes.fromhex(text.replace("\\x", "")) for text in _TEXT.findall(arguments)]
