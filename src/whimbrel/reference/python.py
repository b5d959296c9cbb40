"""The reference of the Python API, written from the source of the classes that programs may rely on.

What a name means stands in the source as a string under it, of attributes too, so the source is what is read. Names
that begin with an underscore are nobody's business.
"""

import ast
import inspect
import textwrap
from collections.abc import Iterator
from importlib import import_module
from itertools import pairwise
from typing import Final, NamedTuple

from whimbrel.reference.head import PYTHON

_SECTIONS: Final = {
    "Crawling": ("program.crawl.Crawl", "job.progress.Progress", "program.crawl.Notice", "program.result.CrawlResult"),
    "Steering": (
        *("control.client.Control", "control.api.Done", "control.status.Status", "control.status.WiringView"),
        *("control.status.PartView", "control.status.JointView", "control.status.HostView", "control.warning.Warning_"),
        *("control.history.Sample", "control.configuration.Configuration"),
    ),
    "Asking": ("__init__.open", "query.crawl_data.CrawlData", "query.rows.Rows", "query.document.Document"),
    "Why": ("offline.explain.Explainer", "offline.explain.UrlStory", "offline.link_judge.Refusal"),
    "Handlers": ("handle.item.Item", "handle.rule.handler", "handle.rule.filter", "handle.rule.Link"),
    "Pages in handlers": ("handle.page.Page", "handle.select.Selected"),
    "Archives again": ("offline.reparse.Reparsed",),
    "Errors": (
        *("error.WhimbrelError", "error.UsageError", "commit.committed.NotACrawl", "error.Busy", "error.Damaged"),
        *("error.StorageTrouble", "query.sql.QueryFailed", "control.api.ControlError"),
        *("job.options.OptionError", "job.crawl.CrawlError", "query.sql.QueryRefused", "control.api.Refused"),
        *("offline.warc_import.ImportFailed", "offline.explain.NotAUrl"),
    ),
}


class ApiMember(NamedTuple):
    name: str
    shown: str
    """As a program would write it."""
    text: str
    """What it means; empty when nobody has written it down."""


class ApiEntry(NamedTuple):
    name: str
    shown: str
    place: str
    text: str
    members: tuple[ApiMember, ...]


def sections() -> dict[str, list[ApiEntry]]:
    return {title: [_entry(place) for place in places] for title, places in _SECTIONS.items()}


def python_reference() -> str:
    written = [PYTHON]
    for title, entries in sections().items():
        written.append(f"\n## {title}\n")
        written += [_written(entry) for entry in entries]
    return "".join(written)


def _written(entry: ApiEntry) -> str:
    parts = [f"\n### {entry.name}\n\n"]
    if entry.shown:
        parts.append(f"```python\n{entry.shown}\n```\n\n")
    parts.append(f"{entry.text}{f' From `{entry.place}`.' if entry.place else ''}\n")
    if entry.members:
        parts.append("\n| | |\n|---|---|\n")
        parts += [f"| `{_cell(member.shown)}` | {_cell(member.text)} |\n" for member in entry.members]
    return "".join(parts)


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _entry(place: str) -> ApiEntry:
    module_name, _, name = place.rpartition(".")
    module = import_module("whimbrel" if module_name == "__init__" else f"whimbrel.{module_name}")
    found = getattr(module, name)
    tree = ast.parse(textwrap.dedent(inspect.getsource(found))).body[0]
    exported = name in import_module("whimbrel").__all__
    if isinstance(tree, ast.FunctionDef):
        shown = f"whimbrel.{name}{_signature(tree)}"
        return ApiEntry(name, shown, "", _text(ast.get_docstring(tree)), ())
    if not isinstance(tree, ast.ClassDef):
        raise TypeError(f"{place} is no class and no function")
    made = next((one for one in tree.body if isinstance(one, ast.FunctionDef) and one.name == "__init__"), None)
    # Programs make crawls themselves. Everything else is given to them, or made by its fields.
    shown = f"whimbrel.{name}{_signature(made)}" if made is not None and name == "Crawl" else ""
    members = (*_attributes(tree.body, made), *_callables(tree.body))
    text = _text(ast.get_docstring(tree))
    if shown and made is not None:
        text += " " + _text(ast.get_docstring(made))
    return ApiEntry(name, shown, "" if exported else f"whimbrel.{module_name}", text, members)


def _attributes(body: list[ast.stmt], made: ast.FunctionDef | None) -> Iterator[ApiMember]:
    """Fields of the class, and what its constructor sets."""
    for statement, after in pairwise([*body, ast.Pass()]):
        match statement:
            case ast.AnnAssign(target=ast.Name(name)) if not name.startswith("_"):
                yield ApiMember(name, f"{name}: {_type(statement.annotation)}", _under(after))
    for statement, after in pairwise([*(made.body if made is not None else []), ast.Pass()]):
        match statement:
            case ast.Assign(targets=[ast.Attribute(value=ast.Name("self"), attr=name)]) if not name.startswith("_"):
                yield ApiMember(name, name, _under(after))


def _callables(body: list[ast.stmt]) -> Iterator[ApiMember]:
    for one in body:
        if not isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef) or one.name.startswith("_"):
            continue
        text = _text(ast.get_docstring(one))
        names = {ast.unparse(decorator) for decorator in one.decorator_list}
        if names & {"property", "cached_property"}:
            yield ApiMember(
                one.name, f"{one.name}: {_type(one.returns)}" if one.returns is not None else one.name, text
            )
        else:
            begin = "async " if isinstance(one, ast.AsyncFunctionDef) else ""
            yield ApiMember(one.name, f"{begin}{one.name}{_signature(one)}", text)


def _signature(function: ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    given = function.args
    for argument in (*given.posonlyargs, *given.args, *given.kwonlyargs, given.vararg, given.kwarg):
        if argument is not None and argument.annotation is not None:
            argument.annotation = ast.Name(_type(argument.annotation))
    arguments = ast.unparse(given).removeprefix("self, ").removeprefix("self")
    returns = "" if function.returns is None or function.name == "__init__" else f" -> {_type(function.returns)}"
    return f"({arguments}){returns}"


def _type(annotation: ast.expr) -> str:
    """One that is written as a string is a name that is not known yet."""
    written = annotation.value if isinstance(annotation, ast.Constant) else ast.unparse(annotation)
    return str(written).replace("os.PathLike[str]", "PathLike[str]")


def _under(after: ast.stmt) -> str:
    match after:
        case ast.Expr(ast.Constant(str(text))):
            return _text(text)
    return ""


def _text(text: str | None) -> str:
    return " ".join((text or "").split())
