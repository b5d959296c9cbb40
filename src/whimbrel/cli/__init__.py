"""The command line: one file per command, or per group of commands.

Every command says with `--help` what it does and what its exit codes mean. Exit codes: 0 done, 1 failed, 2 usage, 3
stopped with work left. What only one command needs is imported inside it, so that `whimbrel --help` is fast.
"""

from whimbrel.cli.app import main

__all__ = ["main"]
