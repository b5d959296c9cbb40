"""Items: typed rows that handlers make, one table for each class."""

import datetime as dt
import hashlib
import re
import types
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, Final, Union, get_args, get_origin, get_type_hints

import msgspec

Columns = tuple[tuple[str, str], ...]
"""Names and kinds, as the tables of a crawl have them."""

_RESERVED: Final = frozenset(
    ("captures", "pages", "links", "links_history", "fetches", "hosts", "events", "handled", "near_duplicates")
)
_KINDS: Final[dict[Any, str]] = {
    str: "string",
    int: "int64",
    float: "float",
    bool: "bool",
    bytes: "bytes",
    dt.datetime: "time",
    dt.date: "date",
}
_LEAST: Final = -(2**63)
_GREATEST: Final = 2**63 - 1
_NAME: Final = re.compile(r"[a-z][a-z0-9_]*")


class _ItemType(msgspec.StructMeta):
    """Takes `key` and `table` in the head of the class."""

    def __new__(
        cls,
        name: str,
        bases: tuple[type, ...],
        namespace: dict[str, Any],
        *,
        key: str | tuple[str, ...] = (),
        table: str = "",
        **options: Any,
    ) -> Any:
        made: Any = super().__new__(cls, name, bases, namespace, **options)
        if not bases or bases[0] is msgspec.Struct:
            return made
        made.__item_key__ = (key,) if isinstance(key, str) else tuple(key)
        made.__item_table__ = table or _snake(name)
        _check(made)
        return made


class Item(msgspec.Struct, metaclass=_ItemType):
    """`class Product(Item, key="url")` with annotated fields becomes the table `product`.

    `key` names the field or fields of which there is one row: of several items with the same key the last counts.
    Without a key every item is a row. Fields may be str, int, float, bool, bytes, datetime, date, each of these or
    None, and lists of str; anything else is kept as JSON.
    """

    if TYPE_CHECKING:
        __item_table__: ClassVar[str]
        __item_key__: ClassVar[tuple[str, ...]]

        def __init_subclass__(cls, *, key: str | tuple[str, ...] = (), table: str = "", **options: Any) -> None:
            """For type checkers: the metaclass takes these."""


def table_of(kind: type[Item]) -> str:
    return kind.__item_table__


def key_of(kind: type[Item]) -> tuple[str, ...]:
    return kind.__item_key__


@lru_cache(maxsize=256)
def columns_of(kind: type[Item]) -> Columns:
    return tuple((name, column) for name, column, _ in _fields(kind))


@lru_cache(maxsize=256)
def _fields(kind: type[Item]) -> tuple[tuple[str, str, Any], ...]:
    """Name, kind of column and type of each."""
    hints = get_type_hints(kind)
    return tuple((name, _kind(hints[name]), hints[name]) for name in kind.__struct_fields__)


def values_of(item: Item) -> list[Any]:
    """The fields as the table keeps them. TypeError when one is not what its class says, OverflowError for a whole
    number of more than 64 bits."""
    found = []
    for name, kind, hint in _fields(type(item)):
        value = getattr(item, name)
        try:
            value = msgspec.convert(value, hint, from_attributes=True)
        except msgspec.ValidationError as error:
            raise TypeError(f"{type(item).__name__}.{name}: {error}") from error
        found.append(_stored(_in_range(value, kind, f"{type(item).__name__}.{name}"), kind))
    return found


def _in_range(value: Any, kind: str, field: str) -> Any:
    """OverflowError for a whole number that the column cannot hold: here, where it costs one page its items."""
    if kind == "int64" and value is not None and not _LEAST <= value <= _GREATEST:
        raise OverflowError(f"{field}: {value:,} does not fit into 64 bits; declare the field as str or float")
    return value


def key_bytes(item: Item) -> bytes:
    """The same for items of one class with the same key; empty without a key."""
    names = key_of(type(item))
    if not names:
        return b""
    text = msgspec.json.encode([getattr(item, name) for name in names], enc_hook=str)
    return hashlib.blake2b(text, digest_size=16).digest()


def _stored(value: Any, kind: str) -> Any:
    if value is None:
        return None
    if kind == "time":
        return (value if value.tzinfo is not None else value.replace(tzinfo=dt.UTC)).timestamp()
    if kind == "date":
        return (value - dt.date(1970, 1, 1)).days
    if kind == "json":
        return msgspec.json.encode(value, enc_hook=str).decode()
    return list(value) if kind == "strings" else value


def _kind(hint: Any) -> str:
    if get_origin(hint) in (Union, types.UnionType):
        others = [one for one in get_args(hint) if one is not types.NoneType]
        return _kind(others[0]) if len(others) == 1 else "json"
    if get_origin(hint) in (list, tuple) and set(get_args(hint)) <= {str, ...}:
        return "strings"
    return _KINDS.get(hint, "json")


def _check(kind: type[Item]) -> None:
    table, fields = table_of(kind), kind.__struct_fields__
    if not _NAME.fullmatch(table) or table in _RESERVED:
        raise TypeError(f"{kind.__name__}: {table!r} cannot be a table; choose another with table=")
    unknown = [name for name in key_of(kind) if name not in fields]
    if unknown:
        raise TypeError(f"{kind.__name__}: the key {unknown[0]!r} is no field of it")
    if any(name.startswith("_") for name in fields):
        raise TypeError(f"{kind.__name__}: names of fields must not begin with an underscore")


def _snake(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()
