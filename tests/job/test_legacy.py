"""Jobs and wirings that version 0.1 wrote."""

import shutil
from pathlib import Path

from tests.cli.command import run
from tests.job.site import page, served
from whimbrel.job.legacy import current_settings
from whimbrel.job.options import combined

PAGES = {
    "/robots.txt": (200, {"Content-Type": "text/plain"}, "User-agent: *\nDisallow: /private\n"),
    "/": page("/a", "/gone", "/private/x"),
    "/a": page("/"),
}
OLD_WIRING = Path(__file__).parents[1] / "data" / "standalone-0.1.toml"
"""As 0.1 shipped it, with another URL-seen in the place of the exact one."""
OLD_JOB = """
[set.frontier]
retry_s = 4.5
park_after = 7
[set.parser]
max_tries = 2
max_links = 99
[set.settlement]
mime = ["text/html"]
[set.traversal]
patience_s = 77
[set.handling]
processes = 3
"""


def test_settings_are_read_under_their_present_names(tmp_path: Path) -> None:
    job = tmp_path / "old.toml"
    job.write_text(OLD_JOB)
    with served(PAGES) as port:
        arguments = (f"http://127.0.0.1:{port}/", "--job", str(job), "--into", str(tmp_path / "out"))
        done = run(
            "crawl", *arguments, "--delay", "0s", "--allow-network", "127.0.0.0/8", "--set", "parser.max_tries=5"
        )
    assert done.code == 2, "there are no handlers, hence no pool"
    assert "has no 'handler-pool'" in done.words
    job.write_text(OLD_JOB.partition("[set.handling]")[0])
    with served(PAGES) as port:
        arguments = (f"http://127.0.0.1:{port}/", "--job", str(job), "--into", str(tmp_path / "out"))
        done = run(
            "crawl", *arguments, "--delay", "0s", "--allow-network", "127.0.0.0/8", "--set", "parser.max_tries=5"
        )
    assert done.code == 0, done.words
    shown = run("config", "show", str(tmp_path / "out"), "--json").json()
    values = {key: shown[key]["value"] for key in shown}
    assert (values["effects.retry_s"], values["frontier.park_after"]) == (4.5, 7)
    assert (values["effects.max_tries"], values["parser.max_links"]) == (5, 99), "the command line wins"
    assert (values["effects.mime"], values["termination.patience_s"]) == (["text/html"], 77)


def test_what_is_given_under_both_names_is_that_of_the_new_one() -> None:
    both = {"effects": {"retry_s": 1.0}, "frontier": {"retry_s": 2.0}}
    assert current_settings(both) == {"effects": {"retry_s": 1.0}, "frontier": {}}
    layers = [("job.toml", {"set": {"frontier": {"retry_s": 2.0}}}), ("line", {"set": {"effects": {"retry_s": 3.0}}})]
    assert combined(layers).options.set == {"effects": {"retry_s": 3.0}, "frontier": {}}


def test_a_wiring_of_its_own_goes_on_with_the_parts_of_today(tmp_path: Path) -> None:
    wiring = tmp_path / "wiring.toml"
    shutil.copyfile(OLD_WIRING, wiring)
    with served(PAGES) as port:
        arguments = (f"http://127.0.0.1:{port}/", "--wiring", str(wiring), "--into", str(tmp_path / "out"))
        done = run("crawl", *arguments, "--delay", "0s", "--allow-network", "127.0.0.0/8")
        assert done.code == 0, done.words
        rows = run(
            "query", str(tmp_path / "out"), "select outcome from fetches order by url", "--format", "json"
        ).json()
        assert [row["outcome"] for row in rows] == ["stored", "stored", "gone", "denied"]
    drawn = run("graph", str(tmp_path / "out")).out
    assert "bloom-seen" in drawn
    assert "settlement" not in drawn


def test_a_cache_that_was_counted_in_entries_has_as_many_bytes_as_these_take() -> None:
    assert current_settings({"router": {"cached": 1_000}}) == {"router": {"cache_bytes": 240_000}}
