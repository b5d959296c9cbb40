"""`python -m tests.fuzz [TARGET...]`."""

import argparse
import sys
from pathlib import Path
from typing import Final

from tests.fuzz import campaign
from tests.fuzz.target import TARGETS

_FINDS: Final = Path("fuzz-finds")


def main() -> int:
    """What was found is in a folder for each target; the exit code is 1 then."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("target", nargs="*", help=f"all of them unless named: {', '.join(TARGETS)}")
    parser.add_argument("--minutes", type=float, default=5.0, help="for each target")
    parser.add_argument("--quick", action="store_true", help="a fixed number of inputs, as in the default tests")
    parser.add_argument("--seed", type=int, default=1, help="of the dice")
    parser.add_argument("--into", type=Path, default=_FINDS, help="a folder for what is found")
    parser.add_argument("--input", type=Path, help="read this file once, instead of changed inputs")
    given = parser.parse_args()
    unknown = set(given.target) - set(TARGETS)
    if unknown:
        parser.error(f"no target {', '.join(sorted(unknown))}; there are {', '.join(TARGETS)}")
    found = False
    for name in given.target or TARGETS:
        target, finds = TARGETS[name], given.into / name
        if given.input:
            result = campaign.replay(target, finds, [given.input.read_bytes()])
        elif given.quick:
            result = campaign.quick(target, finds, given.seed)
        else:
            result = campaign.fuzz(target, finds, given.minutes * 60, given.seed)
        sys.stdout.write(f"{result}\n")
        sys.stdout.flush()
        found = found or bool(result.finds)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
