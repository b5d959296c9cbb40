"""Names that a wiring may use, and the classes behind them.

A wiring from a file can only name what is registered here: what Whimbrel ships, what an installed package offers
through the entry points `whimbrel.components` and `whimbrel.providers`, and the classes of a file that the user named
with `--with`. It can never name an arbitrary import.
"""

import importlib
import importlib.util
import sys
from collections.abc import Mapping
from hashlib import blake2b
from importlib.metadata import entry_points
from inspect import isabstract
from pathlib import Path
from types import ModuleType
from typing import Final

from whimbrel.error import UsageError
from whimbrel.flow.component import Async, Component, Provider, Sync
from whimbrel.flow.error import FlowError

COMPONENTS: Final = "whimbrel.components"
PROVIDERS: Final = "whimbrel.providers"


class RegistryError(FlowError, UsageError):
    """A plug-in that cannot be loaded; the message names it."""


class Registry:
    """Names are given classes, or `module:Class` for one to be imported when it is first used."""

    def __init__(self) -> None:
        self._components: dict[str, type[Component] | str] = {}
        self._providers: dict[str, type[Provider] | str] = {}
        self.modules: list[ModuleType] = []
        """Of the files, in their order."""

    def components(self, found: Mapping[str, type[Component] | str]) -> "Registry":
        self._components.update(found)
        return self

    def providers(self, found: Mapping[str, type[Provider] | str]) -> "Registry":
        self._providers.update(found)
        return self

    def entry_points(self) -> "Registry":
        """Add what installed packages offer."""
        self._components.update({entry.name: entry.value for entry in entry_points(group=COMPONENTS)})
        self._providers.update({entry.name: entry.value for entry in entry_points(group=PROVIDERS)})
        return self

    def file(self, path: Path) -> "Registry":
        """Add the components and providers that a Python file defines, under their class names."""
        # Dataclasses look their module up by name, so it must be known before it runs, and be nobody else's.
        name = f"whimbrel_with_{path.stem}_{blake2b(str(path.resolve()).encode(), digest_size=6).hexdigest()}"
        spec = importlib.util.spec_from_file_location(name, path)
        if spec is None or spec.loader is None:
            raise RegistryError(f"{path} is not a Python file")
        module = sys.modules[name] = importlib.util.module_from_spec(spec)
        try:
            spec.loader.exec_module(module)
        except Exception as error:
            del sys.modules[name]
            raise RegistryError(f"{path} cannot be loaded: {type(error).__name__}: {error}") from error
        self.modules.append(module)
        for name, value in vars(module).items():
            if not isinstance(value, type) or value.__module__ != module.__name__ or isabstract(value):
                continue
            if issubclass(value, Component):
                self._components[name] = value
            elif issubclass(value, Provider):
                self._providers[name] = value
        return self

    def component_names(self) -> list[str]:
        return sorted(self._components)

    def provider_names(self) -> list[str]:
        return sorted(self._providers)

    def component(self, use: str | type) -> type[Component] | None:
        """The component class of a name, or the class itself; None when there is none."""
        found = use if isinstance(use, type) else _load(self._components.get(use))
        return found if found is not None and issubclass(found, (Sync, Async)) else None

    def provider(self, use: str | type) -> type[Provider] | None:
        found = use if isinstance(use, type) else _load(self._providers.get(use))
        return found if found is not None and issubclass(found, Provider) else None


def _load(found: type | str | None) -> type | None:
    if not isinstance(found, str):
        return found
    module, _, name = found.partition(":")
    try:
        loaded = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise RegistryError(f"{found} cannot be loaded: {error}") from error
    if not isinstance(loaded, type):
        raise RegistryError(f"{found} is not a class")
    return loaded
