"""Standard input, output and errors, whatever the caller has done to them."""

import os
import sys


def open_standard_files() -> None:
    """Standard input, output and errors that were closed (`2>&-`) become /dev/null: otherwise the next file or socket
    that is opened would get their numbers, and whatever is printed would go there."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(number)
        except OSError:
            opened = os.open(os.devnull, os.O_RDWR)
            if opened != number:
                os.dup2(opened, number)
                os.close(opened)
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(number, "w" if number else "r", closefd=False))
