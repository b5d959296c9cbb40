"""What is not documented fails here."""

import ast
import json
import re
import shlex
import subprocess
import sys
import tomllib
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec
import pytest
import typer.main
import typer.testing

import whimbrel
from whimbrel.cli import control
from whimbrel.commit.crash import POINTS
from whimbrel.control import api, warning
from whimbrel.control.openapi import description
from whimbrel.facts.api import TABLES
from whimbrel.flow import error as errors
from whimbrel.flow.draw import as_mermaid
from whimbrel.job.options import combined
from whimbrel.job.parts import wiring
from whimbrel.outcome import Outcome
from whimbrel.query.snapshot import Snapshot
from whimbrel.query.sql import Query, QueryConfig
from whimbrel.reference.action import action_reference, actions, values
from whimbrel.reference.command import command_reference
from whimbrel.reference.job_file import job_reference
from whimbrel.reference.metric import metric_reference, metrics
from whimbrel.reference.python import python_reference, sections
from whimbrel.reference.setting import options, parts
from whimbrel.simweb.catalogue import entries
from whimbrel.simweb.preset import Preset, spec_of
from whimbrel.simweb.spec import WebSpec
from whimbrel.simweb.truth import Truth, TruthLimits, TruthOptions
from whimbrel.simweb.web import Web

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
SOURCES = sorted((ROOT / "src" / "whimbrel").rglob("*.py"))


def test_the_reference_of_commands_is_up_to_date() -> None:
    assert (DOCS / "commands.md").read_text() == command_reference(), (
        "run: python -m whimbrel.reference commands > docs/commands.md"
    )


def test_the_reference_of_job_files_is_up_to_date() -> None:
    written = (DOCS / "job-file.md").read_text()
    assert written == job_reference(), "run: python -m whimbrel.reference job-file > docs/job-file.md"


def test_every_extra_is_listed() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    page = (DOCS / "quick-start.md").read_text()
    assert [name for name in project["optional-dependencies"] if f"`{name}`" not in page] == []


def test_every_option_and_every_setting_says_what_it_means() -> None:
    wired, others = parts()
    silent = [field.name for field in options() if not field.text]
    silent += [f"{part.name}.{field.name}" for part in (*wired, *others) for field in part.fields if not field.text]
    assert silent == [], "write a string under the field"


def test_the_reference_of_python_is_up_to_date() -> None:
    written = (DOCS / "python.md").read_text()
    assert written == python_reference(), "run: python -m whimbrel.reference python > docs/python.md"


def test_everything_that_programs_may_rely_on_is_explained() -> None:
    entries = [entry for group in sections().values() for entry in group]
    assert {entry.name for entry in entries} >= set(whimbrel.__all__) - {"__version__"}
    assert [entry.name for entry in entries if not entry.text] == []
    assert [f"{entry.name}.{one.name}" for entry in entries for one in entry.members if not one.text] == []


def test_every_command_of_control_is_in_the_reference_of_commands_with_its_directory() -> None:
    text = (DOCS / "commands.md").read_text()
    group: Any = typer.main.get_command(control.app)
    assert len(group.commands) >= len(api.ACTIONS)
    assert [name for name in group.commands if f"\n## whimbrel control DIR {name}\n" not in text] == []


def test_the_reference_of_metrics_is_up_to_date() -> None:
    written = (DOCS / "metrics.md").read_text()
    assert written == metric_reference(), "run: python -m whimbrel.reference metrics > docs/metrics.md"


def test_every_metric_says_what_it_means_and_has_a_name_of_its_own() -> None:
    found = metrics()
    names = [one.name for one in found]
    assert [one.name for one in found if not one.metric.help.strip()] == []
    assert [name for name in names if names.count(name) > 1] == []
    # Prometheus would give a counter the ending, and the reference would be wrong.
    assert [one.name for one in found if (one.metric.kind == "counter") != one.name.endswith("_total")] == []


def test_the_dashboard_of_grafana_asks_for_metrics_and_labels_that_there_are() -> None:
    text = json.dumps(json.loads((DOCS / "grafana.json").read_text()))
    labels: dict[str, str] = {}
    for one in metrics():
        histogram = one.metric.kind == "histogram"
        endings = ("_bucket", "_sum", "_count") if histogram else ("",)
        labels |= {one.name + ending: "le" if histogram else one.metric.label for ending in endings}
    used = set(re.findall(r"whimbrel_\w+", text))
    assert len(used) > 12
    assert used - labels.keys() == set()
    by = re.findall(r"by \((\w+)\) \((?:rate\()?(whimbrel_\w+)", text)
    assert [(label, name) for label, name in by if label not in ("instance", labels[name])] == []


def test_the_reference_of_actions_is_up_to_date() -> None:
    written = (DOCS / "actions.md").read_text()
    assert written == action_reference(), "run: python -m whimbrel.reference actions > docs/actions.md"


def test_every_action_and_every_field_of_one_says_what_it_means() -> None:
    found = [*actions(), *values()]
    assert [one.name for one in found if not one.text] == []
    assert [f"{one.name}.{field.name}" for one in found for field in one.fields if not field.text] == []


@pytest.mark.parametrize("name", api.ACTIONS)
def test_the_three_ways_to_an_action_in_the_guide_are_the_same_action(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    guide = (DOCS / "control.md").read_text()
    section = re.findall(rf"^### {name}\n(.*?)(?=^##|\Z)", guide, re.DOTALL | re.MULTILINE)[0]
    line = re.findall(r"^- Command line: `(.+)`$", section, re.MULTILINE)[0]
    place, body = re.findall(r"^- HTTP: `POST /v1/actions/(\w+)` with `(.+)`$", section, re.MULTILINE)[0]
    call = re.findall(r"^- Python: `(.+)`$", section, re.MULTILINE)[0]
    sent: list[object] = []
    monkeypatch.setattr(control, "_carry_out", lambda context, action, json_: sent.append(action))
    done = typer.testing.CliRunner().invoke(control.app, shlex.split(line.removeprefix("whimbrel control ")))
    assert done.exit_code == 0, done.output
    assert place == name
    assert sent == [msgspec.json.decode(body, type=api.ACTIONS[name])] == [eval(call, vars(api))]  # noqa: S307
    assert re.search(r"^- After a restart: .", section, re.MULTILINE)


def test_everything_that_can_be_asked_over_http_is_in_the_guide_to_control() -> None:
    text = (DOCS / "control.md").read_text()
    paths = [path for path in description()["paths"] if not path.startswith("/v1/actions/")]
    assert [path for path in paths if f"`GET {path}" not in text] == []


def test_every_warning_is_in_the_guide_for_operators_in_the_order_of_its_weight() -> None:
    codes = re.findall(r'Warning_\(\s*"([a-z-]+)"', Path(warning.__file__).read_text())
    text = (DOCS / "operator.md").read_text()
    rows = re.findall(r"^\| `([a-z-]+)` \| .+ \| .+ \|$", text, re.MULTILINE)
    assert len(codes) >= 9
    assert rows == codes


def test_every_option_is_in_the_reference_of_job_files() -> None:
    text = (DOCS / "job-file.md").read_text()
    assert [field.name for field in options() if f"| `{field.name}` |" not in text] == []


def test_the_job_file_in_the_reference_can_be_used() -> None:
    example = re.findall(r"```toml\n(.*?)```", (DOCS / "job-file.md").read_text(), re.DOTALL)[0]
    assert combined([("example", tomllib.loads(example))]).options.set["journal"]["level"] == 6


def test_every_column_of_every_table_is_documented_with_its_type(tmp_path: Path) -> None:
    types = {"UBIGINT": "uint64", "VARCHAR": "text", "TIMESTAMP WITH TIME ZONE": "time"}
    types |= {"SMALLINT": "int16", "INTEGER": "int32", "BIGINT": "int64"}
    sections = dict(
        re.findall(r"^## (\w+)\n(.*?)(?=^## |\Z)", (DOCS / "tables.md").read_text(), re.DOTALL | re.MULTILINE)
    )
    views = ("pages", *TABLES)
    found = {view: re.findall(r"^\| `(\w+)` \| (\w+) \|", sections.get(view, ""), re.MULTILINE) for view in views}
    # The columns of `captures` that `pages` has as well are described once.
    found["pages"] = [*found["captures"], *found["pages"]]
    expected = {}
    with Query([Snapshot(tmp_path, {}, [])], QueryConfig()) as query:
        for view in views:
            with query.run(f"SELECT column_name, column_type FROM (DESCRIBE {view})") as answer:  # noqa: S608
                rows = [row.values() for batch in answer for row in batch.to_pylist()]
            expected[view] = [(name, types.get(kind, kind.lower())) for name, kind in rows]
    assert found == expected


def test_every_crash_point_is_documented_in_the_order_it_is_reached() -> None:
    rows = re.findall(r"^\| `([a-z-]+)` \|", (DOCS / "durability.md").read_text(), re.MULTILINE)
    assert rows == list(POINTS)


def test_the_picture_in_the_readme_is_part_of_the_wiring() -> None:
    picture = re.findall(r"```mermaid\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)[0]
    whole = set(as_mermaid(wiring("standalone")).splitlines())
    assert [line for line in picture.splitlines() if line not in whole] == []


def test_every_file_that_the_documentation_names_is_there() -> None:
    named = {
        (page.name, name)
        for page in (*DOCS.rglob("*.md"), ROOT / "README.md", ROOT / "CONTRIBUTING.md")
        for name in re.findall(r"`((?:[a-z]+/)+[a-z_0-9]*(?:\.py|\.toml|/))`", page.read_text())
    }
    places = (ROOT, ROOT / "src" / "whimbrel", ROOT / "src" / "whimbrel" / "simweb")
    assert [one for one in sorted(named) if not any((place / one[1]).exists() for place in places)] == []


def test_every_key_of_a_specification_is_documented() -> None:
    text = (DOCS / "simweb.md").read_text()
    assert [name for name in WebSpec.__struct_fields__ if f"`{name}`" not in text] == []


def test_every_family_of_exhibits_is_documented() -> None:
    text = (DOCS / "simweb.md").read_text()
    families = {entry.family for entry in entries()} - {"leaf"}
    assert [family for family in families if f"`{family}`" not in text] == []


def test_every_wiring_error_is_documented() -> None:
    text = (DOCS / "flow.md").read_text()
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, errors.WiringError)]
    assert [kind.__name__ for kind in kinds if f"`{kind.__name__}`" not in text] == []


def test_every_outcome_and_every_reason_of_the_truth_is_documented() -> None:
    text = (DOCS / "outcomes.md").read_text()
    assert [outcome for outcome in Outcome if f"`{outcome}`" not in text] == []
    web = Web(spec_of(Preset.WILD))
    rows = list(islice(Truth(web, web.seed_urls(), TruthOptions(limits=TruthLimits(hops=6))).rows(), 40_000))
    reasons = {"http-NNN" if re.fullmatch(r"http-[45]\d\d", row.reason) else row.reason for row in rows}
    assert {row.outcome for row in rows} <= set(Outcome)
    assert [reason for reason in reasons if reason not in text] == []


def test_the_program_in_the_guide_to_the_framework_runs_as_it_says(tmp_path: Path) -> None:
    text = (DOCS / "flow.md").read_text()
    blocks = {kind: re.findall(rf"```{kind}\n(.*?)```", text, re.DOTALL)[0] for kind in ("python", "toml")}
    program, wiring = tmp_path / "example.py", tmp_path / "example.toml"
    program.write_text(blocks["python"])
    done = subprocess.run([sys.executable, str(program)], capture_output=True, text=True, timeout=30, check=False)
    assert done.stdout.strip() == blocks["python"].rsplit("# ", 1)[1].strip(), done.stderr
    program.write_text(blocks["python"].replace("asyncio.run(main())", ""))
    wiring.write_text(blocks["toml"])
    command = [sys.executable, "-m", "whimbrel", "graph", str(wiring), "--with", str(program)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    assert done.returncode == 0, done.stderr


def test_every_link_in_the_documentation_leads_to_a_file() -> None:
    broken = []
    for page in (*DOCS.rglob("*.md"), *ROOT.glob("*.md")):
        targets = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text())
        broken += [f"{page.name}: {target}" for target in targets if not (page.parent / target).exists()]
    assert broken == []


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_file_is_over_400_lines_and_no_function_over_60(path: Path) -> None:
    text = path.read_text()
    assert text.count("\n") <= 400
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            # A command's parameters are its options: they are not what makes a function hard to read.
            assert node.end_lineno is not None
            assert node.end_lineno - node.body[0].lineno < 60, f"{node.name} at line {node.lineno}"


def test_every_part_tells_its_story() -> None:
    for package in (ROOT / "src" / "whimbrel").rglob("__init__.py"):
        story = ast.get_docstring(ast.parse(package.read_text()))
        assert story, package
        assert package.parent.name == "whimbrel" or len(story) > 250, f"{package} says too little"


def test_the_table_of_contracts_names_every_suite_and_protocols_that_exist() -> None:
    text = (ROOT / "docs" / "contracts.md").read_text()
    suites = {path.name for path in (ROOT / "tests" / "contract").glob("test_*.py")}
    assert set(re.findall(r"`(test_\w+\.py)`", text)) == suites
    for module, protocol in re.findall(r"^\|[^|]*\| `([\w/]+\.py)` `(\w+)` \|", text, re.MULTILINE):
        source = (ROOT / "src" / "whimbrel" / module).read_text()
        assert re.search(rf"^class {protocol}\(.*Protocol", source, re.MULTILINE), f"{module} has no {protocol}"


def test_the_map_names_files_that_exist() -> None:
    rows = re.findall(r"^\| (`[^|]*) \|[^|]*\|([^|]*)\|$", (ROOT / "docs" / "map.md").read_text(), re.MULTILINE)
    assert len(rows) > 15
    for folders, text in rows:
        for name in re.findall(r"`([\w/]+\.py)`", text):
            places = [name] if "/" in name else [f"{folder}/{name}" for folder in re.findall(r"`(\w+)`", folders)]
            assert any((ROOT / "src" / "whimbrel" / place).is_file() for place in places), f"{folders}: no {name}"
