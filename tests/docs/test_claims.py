"""What the documents say of commands, tables and functions is true."""

import re
from pathlib import Path

import pytest

from tests.cli.command import run
from whimbrel.facts.api import TABLES
from whimbrel.route.link_rule import FOLLOWED, REQUISITES

ROOT = Path(__file__).parents[2]
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


@pytest.mark.parametrize("file", DOCUMENTS, ids=lambda file: file.name)
def test_every_command_that_a_document_names_is_there(file: Path) -> None:
    known = set(re.findall(r"^## whimbrel ([a-z -]+)$", (ROOT / "docs" / "commands.md").read_text(), re.MULTILINE))
    groups = {name.split()[0] for name in known if " " in name} | {"control"}
    named = re.findall(r"`whimbrel\s+([a-z]+)(?:\s+([a-z-]+))?", file.read_text())
    commands = {f"{first} {second}" if first in groups and second else first for first, second in named}
    assert commands - known - groups == set()


def test_the_help_of_query_names_every_table_and_function() -> None:
    words = set(re.findall(r"\w+", run("query", "--help").words))
    assert {*TABLES, "pages", "links_history", "near_duplicates", "hamming", "site", "surt"} <= words


def test_the_documents_name_every_table_and_kind_of_link() -> None:
    readme, tables = (ROOT / "README.md").read_text(), (ROOT / "docs" / "tables.md").read_text()
    assert [table for table in (*TABLES, "pages") if f"`{table}`" not in readme] == []
    (kinds,) = re.findall(r"^\| `kind` \|.*$", tables, re.MULTILINE)
    assert {*FOLLOWED, *REQUISITES, "form"} == set(re.findall(r"`([a-z]+)`", kinds)) - {"kind"}


def test_the_files_that_the_quick_start_reads_are_tables_that_are_stored() -> None:
    (table,) = re.findall(r"first/facts/(\w+)-\*\.parquet", (ROOT / "docs" / "quick-start.md").read_text())
    assert table in TABLES
