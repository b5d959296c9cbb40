"""`whimbrel config show`: every value of a crawl's configuration, and where it came from."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Final

import msgspec
import typer
from rich.table import Table

from whimbrel.fetch.credential import redacted_setting
from whimbrel.flow import ComponentSpec, ProviderSpec, check
from whimbrel.job.crawl_wiring import configured, settings_of
from whimbrel.job.options import CrawlOptions
from whimbrel.job.parts import registry
from whimbrel.job.stored import stored_job
from whimbrel.terminal import plain_console

_DERIVED: Final = {
    "scope": ("router", "scope"),
    "max_depth": ("router", "max_depth"),
    "max_pages_per_host": ("frontier", "max_pages_per_host"),
    "user_agent": ("transport", "user_agent"),
}
"""Options whose default depends on others, and the setting that says what became of it."""

app = typer.Typer(no_args_is_help=True, help="Look at a crawl's configuration.")


@app.callback()
def _config() -> None:
    """Look at a crawl's configuration."""


@app.command("show")
def show(
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="A crawl, or a directory with a job.toml.")],
    json_: Annotated[bool, typer.Option("--json", help="Print it as JSON.")] = False,
) -> None:
    """Print each option and each setting of each part with its value and its origin. Secrets are not shown.

    Exit codes: 0 shown, 2 there is no job, or it is wrong.
    """
    given = stored_job(directory)
    found = registry(*map(Path, given.options.with_files))
    plan = check(configured(given.options, directory, found), found)
    derived = settings_of(given.options, directory)
    rows: list[tuple[str, Any, str]] = [
        (name, redacted_setting(name, _in_force(name, given.options, derived)), given.origins.get(name, "default"))
        for name in CrawlOptions.__struct_fields__
        if name != "set"
    ]
    specs: list[ComponentSpec | ProviderSpec] = [*plan.wiring.components, *plan.wiring.providers]
    for spec in specs:
        kind = found.component(spec.use) or found.provider(spec.use)
        if kind is None:
            continue
        config = msgspec.convert(dict(spec.config), kind.Config)
        for key in kind.Config.__struct_fields__:
            decided = "options" if key in derived.get(spec.name, {}) else "default"
            origin = given.origins.get(f"set.{spec.name}.{key}", decided)
            rows.append((f"{spec.name}.{key}", redacted_setting(key, getattr(config, key)), origin))
    _print(rows, as_json=json_)


def _in_force(name: str, options: CrawlOptions, derived: Mapping[str, Mapping[str, Any]]) -> Any:
    """The value that a crawl goes by: some defaults depend on other options."""
    value = getattr(options, name)
    part, key = _DERIVED.get(name, ("", ""))
    return derived[part][key] if part and value in (None, "") else value


def _print(rows: list[tuple[str, Any, str]], *, as_json: bool) -> None:
    if as_json:
        shown = {name: {"value": value, "origin": origin} for name, value, origin in rows}
        typer.echo(msgspec.json.format(msgspec.json.encode(shown), indent=2).decode())
        return
    table = Table(box=None, padding=(0, 2))
    for title in ("setting", "value", "origin"):
        table.add_column(title, overflow="fold")
    for name, value, origin in rows:
        table.add_row(name, msgspec.json.encode(value).decode(), origin)
    plain_console().print(table, markup=False)
