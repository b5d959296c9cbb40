"""Whimbrel: a parallel, distributed, migrating web crawler."""

__version__ = "0.1.0"
