"""Settings of single parts as given on the command line: `part.key=value`."""

import tomllib
from typing import Any

from whimbrel.job.options import OptionError


def parsed_settings(texts: list[str]) -> dict[str, dict[str, Any]]:
    """For each part its settings. A value is read as TOML; what is not TOML is a string."""
    found: dict[str, dict[str, Any]] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        part, dot, key = name.strip().partition(".")
        if not (equals and dot and part and key):
            raise OptionError(f"--set {text}: write PART.KEY=VALUE, for example frontier.retry_s=5")
        found.setdefault(part, {})[key] = setting_value(value.strip())
    return found


def setting_value(text: str) -> Any:
    """A value as TOML; what is not TOML is a string."""
    try:
        found = tomllib.loads(f"value = {text}")
    except tomllib.TOMLDecodeError:
        return text
    return found["value"] if len(found) == 1 else text
