"""Apart from the package itself, so that its parts can say their version without importing all of it."""

__version__ = "0.1.0"
