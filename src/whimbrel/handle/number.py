"""Numbers as people write them, and as XPath does."""

import math
import re
from decimal import Decimal
from typing import Final

_NUMBER: Final = re.compile(r"(?:[-+\N{MINUS SIGN}]?|(?<![\w.])[-+\N{MINUS SIGN}]?\.)\d[\d.,'\u2019\s]*")
"""A point stands before the first digit where a word does not end with it: `-.5`, but not `No.5`."""


def number_in(text: str) -> float | None:
    """The first number in a text; None when there is none, or when it is too large for a float."""
    found = _NUMBER.search(text)
    if found is None:
        return None
    digits = re.sub(r"['\u2019\s]", "", found[0].replace("\N{MINUS SIGN}", "-")).rstrip(".,")
    last = max(digits.rfind("."), digits.rfind(","))
    if last >= 0:
        mark = digits[last]
        # A mark that comes more than once, or once before exactly three digits with no other mark, groups thousands.
        other = "," if mark == "." else "."
        grouping = digits.count(mark) > 1 or (mark == "," and len(digits) - last == 4 and other not in digits)
        whole, part = (digits, "") if grouping else (digits[:last], digits[last + 1 :])
        digits = whole.replace(".", "").replace(",", "") + (f".{part}" if part else "")
    number = float(digits)
    return number if math.isfinite(number) else None


def xpath_number(value: float) -> str:
    """XPath 1.0 §4.2: no exponent, no point in whole numbers, as many digits as tell it from all others."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    return str(int(value)) if value.is_integer() else f"{Decimal(repr(value)):f}"
