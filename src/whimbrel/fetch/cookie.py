"""Cookies: those of the user's file are sent where they belong, and those that servers set are dropped.

A handle of libcurl reads the file when it is made, and would keep what servers set for the next request that it makes,
whoever that is for.
"""

from typing import Any

import pycurl


def cookie_options(file: str) -> dict[int, Any]:
    """Send the cookies of a file in Netscape's format; none when the name is empty."""
    return {pycurl.COOKIEFILE: file} if file else {}


def drop_set_cookies(curl: Any, lines: list[bytes]) -> None:
    """Go back to the cookies of the file if the answer with these header lines has set others."""
    if any(line[:11].lower() == b"set-cookie:" for line in lines):
        curl.setopt(pycurl.COOKIELIST, "ALL")
        curl.setopt(pycurl.COOKIELIST, "RELOAD")
