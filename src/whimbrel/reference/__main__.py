"""`python -m whimbrel.reference PAGE` prints a page of the documentation."""

import sys
from collections.abc import Callable
from typing import Final

from whimbrel.reference.action import action_reference
from whimbrel.reference.command import command_reference
from whimbrel.reference.job_file import job_reference
from whimbrel.reference.metric import metric_reference
from whimbrel.reference.python import python_reference

PAGES: Final[dict[str, Callable[[], str]]] = {
    "actions": action_reference,
    "commands": command_reference,
    "job-file": job_reference,
    "metrics": metric_reference,
    "python": python_reference,
}


def main() -> None:
    page = PAGES.get(" ".join(sys.argv[1:]))
    if page is None:
        sys.exit(f"usage: python -m whimbrel.reference {'|'.join(PAGES)}")
    sys.stdout.write(page())


if __name__ == "__main__":
    main()
