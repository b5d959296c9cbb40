"""Which handler is for which page."""

import hashlib
import inspect
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from types import CodeType
from typing import Any, Final, overload

import msgspec

from whimbrel.handle.item import Columns, Item, columns_of, table_of
from whimbrel.handle.page import Page
from whimbrel.url.glob import Globs

Handler = Callable[[Page], Any]
"""Yields or returns items and links; None is nothing."""
Filter = Callable[[str], bool]

_MARK: Final = "__whimbrel__"


class Link(msgspec.Struct, frozen=True):
    """A URL to visit, if scope and filters let it. None and an empty text are no link, so that
    `Link(page.css("a.next").href)` may stand where there is no next page. With a priority over 0 it goes before all
    others of its host."""

    url: str | None
    """Absolute, or relative to the page's base, as a link of the page would be. One that leads to no http or https URL,
    such as `mailto:`, is counted among the links that were not followed, as `scheme`."""
    priority: int = 0
    """Over 0: before all others of its host."""


class _Mark(msgspec.Struct, frozen=True):
    kind: str
    url: tuple[str, ...] = ()
    mime: tuple[str, ...] = ()


class HandlerRule:
    """A handler with the pages it is for."""

    def __init__(self, handler: Handler, url: Sequence[str] = (), mime: Sequence[str] = ()) -> None:
        self.handler = handler
        self.name = getattr(handler, "__name__", repr(handler))
        self._url = Globs(url).match if url else None
        self._mime = Globs(mime).match if mime else None

    def takes(self, url: str, mime: str) -> bool:
        return (self._url is None or bool(self._url(url))) and (self._mime is None or bool(self._mime(mime)))


class HandlerRules:
    """All handlers and filters of a crawl, in the order they were defined."""

    def __init__(self) -> None:
        self.parse: list[HandlerRule] = []
        self.filters: list[Filter] = []

    def __bool__(self) -> bool:
        return bool(self.parse or self.filters)

    def add(self, functions: Iterable[Callable[..., Any]]) -> None:
        """Those that `handler` or `filter` marked."""
        for function in functions:
            mark: _Mark | None = getattr(function, _MARK, None)
            if mark is None:
                continue
            if mark.kind == "filter":
                self.filters.append(function)
            else:
                self.parse.append(HandlerRule(function, mark.url, mark.mime))

    def tables(self) -> dict[str, Columns]:
        """Those of the item classes that handlers can see."""
        seen = [value for rule in self.parse for value in _visible(rule.handler)]
        return {table_of(kind): columns_of(kind) for kind in seen if isinstance(kind, type) and _is_item(kind)}

    def matching(self, url: str, mime: str) -> list[HandlerRule]:
        return [rule for rule in self.parse if rule.takes(url, mime)]

    @property
    def version(self) -> str:
        """Of the code of the handlers: two versions that do the same differ when they were written differently."""
        found = hashlib.blake2b(digest_size=6)
        for rule in self.parse:
            found.update(_source(rule.handler))
        return found.hexdigest()


@overload
def handler(function: Handler, /) -> Handler: ...
@overload
def handler(*, url: str | Sequence[str] = (), mime: str | Sequence[str] = ()) -> Callable[[Handler], Handler]: ...
def handler(
    function: Handler | None = None, /, *, url: str | Sequence[str] = (), mime: str | Sequence[str] = ()
) -> Handler | Callable[[Handler], Handler]:
    """Mark a function as a handler of pages whose URL and type match a pattern with `*`; of all when none is given, and
    as `@handler` without parentheses. TypeError when it is an `async` one, or no function."""

    def mark(function: Handler) -> Handler:
        _check_plain(function, "handlers")
        setattr(function, _MARK, _Mark("handler", _several(url), _several(mime)))
        return function

    return mark if function is None else mark(function)


def filter(function: Filter) -> Filter:  # noqa: A001 - whimbrel.filter
    """Mark a function that says whether a URL may be visited. One that raises says no. TypeError when it is an `async`
    one."""
    _check_plain(function, "filters")
    setattr(function, _MARK, _Mark("filter"))
    return function


def _check_plain(function: Any, what: str) -> None:
    if not callable(function):
        raise TypeError(f"{function!r} is no function; patterns are given by name: handler(url=…, mime=…)")
    # What an async filter returns counts as true, whatever it would say.
    if inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function):
        raise TypeError(
            f"{function.__name__} is an async function; {what} are plain ones: they run in processes of their own, "
            "and have nothing to wait for"
        )


def _visible(function: Callable[..., Any]) -> list[Any]:
    plain = inspect.unwrap(function)
    found = list(getattr(plain, "__globals__", {}).values())
    for cell in getattr(plain, "__closure__", None) or ():
        with suppress(ValueError):
            found.append(cell.cell_contents)
    return found


def _is_item(kind: type) -> bool:
    return issubclass(kind, Item) and kind is not Item


def _several(patterns: str | Sequence[str]) -> tuple[str, ...]:
    return (patterns,) if isinstance(patterns, str) else tuple(patterns)


def _source(function: Callable[..., Any]) -> bytes:
    """The file that a function stands in, as it may use all of it; in a notebook its own text, or its code."""
    try:
        file = inspect.getsourcefile(function)
        if file is not None and Path(file).is_file():
            return Path(file).read_bytes()
        return inspect.getsource(function).encode()
    except (OSError, TypeError):
        code = getattr(function, "__code__", None)
        return repr(function).encode() if code is None else _coded(code)


def _coded(code: CodeType) -> bytes:
    constants = [_coded(one) if isinstance(one, CodeType) else repr(one).encode() for one in code.co_consts]
    return code.co_code + b"".join(constants) + repr(code.co_names).encode()
