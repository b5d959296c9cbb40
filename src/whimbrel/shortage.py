"""What this machine lacks. A shortage is ours: it pauses a crawl, and never decides what becomes of a URL."""

import errno
from typing import Final, Literal

import msgspec

Resource = Literal["disk", "directory", "open-files", "memory", "certificates", "software"]

_RESOURCES: Final[dict[int | None, Resource]] = {
    errno.ENOSPC: "disk",
    errno.EDQUOT: "disk",
    errno.EFBIG: "disk",
    errno.EMFILE: "open-files",
    errno.ENFILE: "open-files",
    errno.ENOMEM: "memory",
    errno.ENOBUFS: "memory",
}
"""Every other error means that files cannot be made where they should be: EIO, EROFS, ENOENT, EACCES."""
_NO_MEMORY: Final = ("bad_alloc", "malloc", "[digital envelope routines]", "ZSTD_CCtx create failed")
"""How libraries say that they had no memory: Arrow, Zstandard, and OpenSSL, which has no other reason to fail in a
digest."""
_NO_LOCKS: Final = ("can't allocate", "can't start new thread", "reinitialize lock")
"""How Python says so when it wants a lock or a thread."""

_REMEDIES: Final[dict[Resource, str]] = {
    "disk": "Make room there and the crawl goes on by itself; or stop it and move the directory, then `whimbrel "
    "resume` it",
    "directory": "See that it is there and can be written to, and the crawl goes on by itself; or stop it, and "
    "`whimbrel resume` it when that is done",
    "open-files": "The crawl goes on by itself when there are some again; or stop it, raise the limit (`ulimit -n`) or "
    "take fewer --connections, then `whimbrel resume` it",
    "memory": "The crawl goes on by itself when there is some again; or stop it, make room in memory, then `whimbrel "
    "resume` it",
    "software": "This is a fault of Whimbrel, not of the disk: please report it with this message. What was committed "
    "before is safe",
    "certificates": "See that it is there and can be read (--ca), and the crawl goes on by itself",
}
_WORDS: Final[dict[Resource, str]] = {
    "disk": "{directory} cannot be written to",
    "directory": "{directory} cannot be written to",
    "open-files": "this machine has no file descriptors left",
    "memory": "this machine has no memory left",
    "software": "a commit cannot be made",
    "certificates": "no TLS connection can be made",
}


class Shortage(msgspec.Struct, frozen=True, gc=False):
    """What is missing, and why we think so."""

    resource: Resource
    cause: str
    """As the system says it."""
    wanted_bytes: int = 0
    """Of disk space beyond the reserve: with less it is not worth going on."""

    @property
    def remedy(self) -> str:
        """What to do about it."""
        return _REMEDIES[self.resource]

    def explain(self, directory: object) -> str:
        """In one sentence, for people."""
        return f"{_WORDS[self.resource].format(directory=directory)} ({self.cause})"


def is_refused_memory(error: BaseException) -> bool:
    """Whether an error of Python or of a library says that it could have no memory, or no thread."""
    words = _NO_LOCKS if isinstance(error, RuntimeError) else _NO_MEMORY
    return isinstance(error, MemoryError) or any(word in str(error) for word in words)


def shortage_of(error: OSError, wanted_bytes: int = 0) -> Shortage:
    """What an error of the system says about this machine. One without a number and without a word is Arrow's, when
    something below it had no memory even to say so."""
    cause = error.strerror or str(error)
    if error.errno is None and not cause:
        return Shortage("memory", "a library failed and gave no reason", wanted_bytes)
    resource = "memory" if is_refused_memory(error) else _RESOURCES.get(error.errno, "directory")
    return Shortage(resource, cause, wanted_bytes)
