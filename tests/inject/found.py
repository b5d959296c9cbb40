"""What a finished crawl knows, to be compared with another."""

from collections import Counter
from pathlib import Path

import msgspec
from typer.testing import CliRunner
from warcio.archiveiterator import ArchiveIterator

import whimbrel as w
from whimbrel.cli.app import application
from whimbrel.commit.committed import read_committed


class Found(msgspec.Struct):
    """What a finished crawl knows."""

    fetches: list[str]
    pages: list[str]
    links: list[str]
    items: list[str]
    captures: list[str]
    files: list[str]
    """Files that no commit knows of."""
    verify: str

    def repeated(self) -> dict[str, list[str]]:
        found = {}
        for name in ("fetches", "pages", "items", "captures"):
            again = [entry for entry, count in Counter(getattr(self, name)).items() if count > 1]
            if again:
                found[name] = again[:3]
        return found

    def differences(self, other: "Found") -> list[str]:
        found = []
        for name in ("fetches", "pages", "links", "items", "captures", "files"):
            own, its = set(getattr(self, name)), set(getattr(other, name))
            if own != its:
                found.append(f"{name}: lost {sorted(its - own)[:3]}, more {sorted(own - its)[:3]}")
        return found


def found_in(directory: Path) -> Found:
    committed = read_committed(directory)
    kept = "case when outcome in ('stored', 'duplicate') then 'kept' else outcome || ' ' || coalesce(reason, '') end"
    sql = {
        "fetches": f"select url || ' ' || {kept} as x from fetches where outcome <> 'retry'",  # noqa: S608
        "pages": "select url || ' ' || digest || ' ' || coalesce(title, '') as x from pages",
        "links": "select source || ' ' || target || ' ' || kind as x from links",
        "items": "select 'heading ' || url || ' ' || title as x from heading union all select 'seen ' || url from seen",
    }
    parts = " union all ".join(f"select '{name}' as part, x from ({text})" for name, text in sql.items())  # noqa: S608
    told: dict[str, list[str]] = {name: [] for name in sql}
    for part, entry in w.open(directory).sql(f"{parts} order by all"):
        told[part].append(entry)
    captures = []
    for name in committed.archive():
        with (directory / name).open("rb") as file:
            captures += [
                record.rec_headers.get_header("WARC-Target-URI")
                for record in ArchiveIterator(file)
                if record.rec_type in ("response", "revisit") and record.http_headers.get_statuscode() != "503"
            ]
    checked = CliRunner().invoke(application("verify"), ["verify", str(directory)])
    verify = "" if checked.exit_code == 0 else f"{checked.output} {checked.exception!r}"
    known = {*committed.facts(), *committed.parquet, *committed.archive()}
    present = {
        path.relative_to(directory).as_posix() for part in ("facts", "archive") for path in (directory / part).glob("*")
    }
    strays = sorted(name for name in present - known if not name.endswith(".cdxj"))
    return Found(**told, captures=sorted(captures), files=strays, verify=verify)
