"""URLs as the WHATWG standard reads them.

A *URL* (`value.py`) is absolute, http or https, without fragment and credentials: what is asked for on the wire. Two
spellings of one URL become equal by parsing alone; nothing is folded that a server may tell apart, and a path is never
lower-cased. Parsing and joining are ada-url's, the parser of Node.js.
"""

from whimbrel.url.value import Url, parse, resolve

__all__ = ["Url", "parse", "resolve"]
