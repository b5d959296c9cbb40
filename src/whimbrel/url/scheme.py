"""The schemes that a crawl can visit, each with its port. A transport is chosen by scheme (`fetch/transports.py`)."""

from typing import Final

DEFAULT_PORTS: Final = {"http": 80, "https": 443}
PREFIXES: Final = tuple(f"{scheme}://" for scheme in DEFAULT_PORTS)
"""What the text of a URL begins with."""
