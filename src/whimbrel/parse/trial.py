"""Reads one document from standard input and ends: `python -m whimbrel.parse.trial URL MIME CHARSET`."""

import resource
import sys
import time
from typing import Final

from whimbrel.parse import dispatch
from whimbrel.parse.api import Reading
from whimbrel.url import parse

_MOST_BYTES: Final = 1_000_000_000


def main() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (_MOST_BYTES, _MOST_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    address, mime, charset = sys.argv[1:]
    url = parse(address)
    module = dispatch.module_for(dispatch.modules(Reading(requisites=True), time.monotonic), mime)
    if url is not None and module is not None:
        module.read(sys.stdin.buffer.read(), url, mime, charset)


if __name__ == "__main__":
    main()
