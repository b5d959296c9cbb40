"""`python -m whimbrel` is the same as `whimbrel`."""

from whimbrel.cli import main

main()
