"""`whimbrel status` of small crawls and of imports."""

from pathlib import Path

from tests.cli.command import run
from tests.job.site import page, served


def test_sizes_have_a_unit_that_fits_and_an_import_has_its_hosts(tmp_path: Path) -> None:
    crawl, imported = tmp_path / "crawl", tmp_path / "import"
    with served({"/": page("/a"), "/a": page()}) as port, served({"/": page()}) as other:
        seeds = (f"http://127.0.0.1:{port}/", f"http://127.0.0.1:{other}/")
        summary = run("crawl", *seeds, "--into", str(crawl), "--delay", "0s")
    assert "0.0 MB" not in summary.words
    status = run("status", str(crawl))
    assert "0.0 MB" not in status.words
    assert " kB" in status.words
    assert "hosts 2" in status.words
    assert run("import", *map(str, (crawl / "archive").glob("*.warc.gz")), "--into", str(imported)).code == 0
    assert "hosts 2" in run("status", str(imported)).words
    assert run("status", str(imported), "--json").json()["counters"]["hosts"] == 2
    assert "0.0 MB" not in run("verify", str(imported)).words
