"""Settings of single parts as given on the command line: `part.key=value`."""

import tomllib
from typing import Any

from whimbrel.job.options import CrawlOptions, OptionError


def parsed_settings(texts: list[str]) -> dict[str, dict[str, Any]]:
    """For each part its settings. A value is read as TOML; what is not TOML is a string."""
    found: dict[str, dict[str, Any]] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        part, dot, key = name.strip().partition(".")
        if not (equals and dot and part and key):
            raise OptionError(f"--set {name}: write PART.KEY=VALUE, for example effects.retry_s=5")
        found.setdefault(part, {})[key] = setting_value(value.strip())
    return found


def parsed_changes(texts: list[str]) -> dict[str, Any]:
    """Options by their names, and settings of parts under `set`."""
    options = [text for text in texts if "." not in text.partition("=")[0]]
    found: dict[str, Any] = {}
    for text in options:
        name, equals, value = text.partition("=")
        if not equals:
            raise OptionError(f"--set {text}: write KEY=VALUE, for example order=depth or effects.retry_s=5")
        found[name.strip()] = _option_value(name.strip(), value.strip())
    settings = parsed_settings([text for text in texts if text not in options])
    return found | ({"set": settings} if settings else {})


def _option_value(name: str, text: str) -> Any:
    """A list of one may be written as that one: `allow_network=10.0.0.0/8`."""
    value = setting_value(text)
    is_list = isinstance(getattr(CrawlOptions(), name, None), tuple)
    return [value] if is_list and isinstance(value, str) else value


def setting_value(text: str) -> Any:
    """A value as TOML; what is not TOML is a string."""
    try:
        found = tomllib.loads(f"value = {text}")
    except tomllib.TOMLDecodeError:
        return text
    return found["value"] if len(found) == 1 else text
