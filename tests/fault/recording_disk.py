"""A disk that writes down what is done to it, and what a power failure at any moment would have left.

It works on real files. Each change is also logged, and `replay` builds from the first so many entries of the log a
directory as it could be found afterwards. What POSIX does not promise is decided by `Keep`.
"""

from collections.abc import Sequence
from enum import Enum
from pathlib import Path
from typing import Any, NamedTuple

from whimbrel.durable_file import Disk, DiskFile


class Keep(Enum):
    SYNCED = "nothing but what was synced: bytes by fdatasync, names by fsync of their directory"
    NAMES = "all names, but only synced bytes: the file system wrote its directories before the data"
    TORN = "all names, and half of the bytes that were written since the last fdatasync"
    ALL = "everything: the process was killed and the machine went on"


class Entry(NamedTuple):
    """`kind` is adopt, create, write, truncate, sync, replace, unlink, mkdir, sync-names or mark."""

    kind: str
    path: str
    file: int = 0
    """Files keep their number when they are renamed."""
    at: int = 0
    data: bytes = b""
    value: Any = None


class RecordingDisk(Disk):
    def __init__(self, root: Path) -> None:
        self.root = root
        self.log: list[Entry] = []
        self._files: dict[str, int] = {}
        self._count = 0

    def mark(self, value: object) -> None:
        """Note something between two operations, such as what a commit said."""
        self.log.append(Entry("mark", "", value=value))

    def open_append(self, path: Path) -> DiskFile:
        file = RecordingFile(path, 0)
        name = self._name(path)
        if name not in self._files:
            self._adopt(name, path.read_bytes())
        return file.record(self.log, self._files[name])

    def create_exclusive(self, path: Path) -> DiskFile:
        real = super().create_exclusive(path)
        real.close()
        number = self._new(self._name(path))
        self.log.append(Entry("create", self._name(path), number))
        return RecordingFile(path, 0).record(self.log, number)

    def replace(self, source: Path, target: Path) -> None:
        super().replace(source, target)
        number = self._files.pop(self._name(source), 0)
        self._files[self._name(target)] = number
        self.log.append(Entry("replace", self._name(source), number, value=self._name(target)))

    def unlink(self, path: Path) -> None:
        super().unlink(path)
        self._files.pop(self._name(path), None)
        self.log.append(Entry("unlink", self._name(path)))

    def make_directory(self, path: Path) -> None:
        super().make_directory(path)
        self.log.append(Entry("mkdir", self._name(path)))

    def fsync_directory(self, path: Path) -> None:
        super().fsync_directory(path)
        self.log.append(Entry("sync-names", self._name(path)))

    def _name(self, path: Path) -> str:
        return path.relative_to(self.root).as_posix()

    def _new(self, name: str) -> int:
        self._count += 1
        self._files[name] = self._count
        return self._count

    def _adopt(self, name: str, data: bytes) -> None:
        """A file that was there before: durable as it is."""
        self.log.append(Entry("adopt", name, self._new(name), data=data))


class RecordingFile(DiskFile):
    def record(self, log: list[Entry], number: int) -> "RecordingFile":
        self._log = log
        self._number = number
        return self

    def _pwritev(self, parts: Sequence[memoryview], offset: int) -> int:
        done = super()._pwritev(parts, offset)
        data = b"".join(parts)[:done]
        self._log.append(Entry("write", "", self._number, offset, data))
        return done

    def truncate(self, length: int) -> None:
        super().truncate(length)
        self._log.append(Entry("truncate", "", self._number, length))

    def fdatasync(self) -> None:
        super().fdatasync()
        self._log.append(Entry("sync", "", self._number))


class _Content:
    def __init__(self, data: bytes = b"") -> None:
        self.now = bytearray(data)
        self.synced = bytes(data)

    def left(self, keep: Keep) -> bytes:
        if keep is Keep.ALL:
            return bytes(self.now)
        if keep is Keep.TORN and len(self.now) > len(self.synced):
            return bytes(self.now[: (len(self.now) + len(self.synced)) // 2])
        return self.synced


class _Model:
    def __init__(self) -> None:
        self.contents: dict[int, _Content] = {}
        self.names: dict[str, int] = {}
        self.synced_names: dict[str, int] = {}
        """Directories have the number 0."""

    def apply(self, entry: Entry) -> None:
        name, number = entry.path, entry.file
        match entry.kind:
            case "adopt":
                self.contents[number] = _Content(entry.data)
                self.names[name] = self.synced_names[name] = number
            case "create":
                self.contents[number] = _Content()
                self.names[name] = number
            case "mkdir":
                self.names.setdefault(name, 0)
            case "replace":
                del self.names[name]
                self.names[entry.value] = number
            case "unlink":
                self.names.pop(name, None)
            case "sync-names":
                self._sync_names(name)
            case "write" | "truncate" | "sync":
                self._apply_bytes(entry)

    def _apply_bytes(self, entry: Entry) -> None:
        content = self.contents[entry.file]
        if entry.kind == "write":
            content.now[entry.at : entry.at + len(entry.data)] = entry.data
        elif entry.kind == "truncate":
            content.now = content.now[: entry.at].ljust(entry.at, b"\0")
        else:
            content.synced = bytes(content.now)

    def _sync_names(self, folder: str) -> None:
        for names, other in ((self.synced_names, self.names), (self.names, self.synced_names)):
            for name in [name for name in names if _folder(name) == folder]:
                if names is self.synced_names and name not in other:
                    del names[name]
                elif names is self.names:
                    other[name] = names[name]

    def write(self, into: Path, keep: Keep) -> None:
        names = self.synced_names if keep is Keep.SYNCED else self.names
        for name, number in sorted(names.items()):
            if _folder(name) != "." and _folder(name) not in names:
                continue  # its directory was lost, and the file with it
            if number:
                (into / name).write_bytes(self.contents[number].left(keep))
            else:
                (into / name).mkdir()


def replay(log: Sequence[Entry], into: Path, keep: Keep) -> list[Any]:
    """Build in the empty directory `into` what these operations could have left; returns the marks among them."""
    model = _Model()
    for entry in log:
        model.apply(entry)
    model.write(into, keep)
    return [entry.value for entry in log if entry.kind == "mark"]


def _folder(name: str) -> str:
    return Path(name).parent.as_posix()
