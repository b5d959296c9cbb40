"""Options: their layers, their units, where each came from, and the job file that keeps them."""

import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from whimbrel.job.crawl_wiring import configured, settings_of
from whimbrel.job.options import CrawlOptions, OptionError, combined, environment, job_text, read_job
from whimbrel.job.parts import registry
from whimbrel.job.seed import seeds
from whimbrel.job.setting import parsed_settings
from whimbrel.job.stored import stored_job
from whimbrel.job.unit import UnitError, duration_s, size_bytes
from whimbrel.job.user_agent import user_agent


def test_the_later_layer_wins_and_each_value_keeps_its_origin(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WHIMBREL_DELAY", "2s")
    monkeypatch.setenv("WHIMBREL_ORDER", "depth")
    job = {"delay": "3s", "connections": 7, "order": "ascend", "set": {"frontier": {"retry_s": 1.0, "park_after": 9}}}
    line = {"order": "breadth", "set": {"frontier": {"retry_s": 2.0}}}
    found = combined([("job.toml", job), ("environment", environment()), ("command line", line)])
    options = found.options
    assert (options.delay, options.connections, options.order, options.max_depth) == (2.0, 7, "breadth", None)
    assert options.set == {"frontier": {"park_after": 9}, "effects": {"retry_s": 2.0}}, "under its present name"
    assert found.origins["delay"] == "environment"
    assert found.origins["connections"] == "job.toml"
    assert found.origins["order"] == "command line"
    assert found.origins["set.effects.retry_s"] == "command line"
    assert found.origins["set.frontier.park_after"] == "job.toml"
    assert "max_depth" not in found.origins


def test_the_environment_is_read_by_kind(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {
        "SITEMAP": "yes",
        "REQUISITES": "0",
        "MAX_PAGES": "12",
        "MAX_RATE": "5MB/s",
        "USER_AGENT": "123",
        "INCLUDE": "*/a/*, */b/*",
        "SEEDS": "not from here",
    }.items():
        monkeypatch.setenv(f"WHIMBREL_{name}", value)
    options = combined([("environment", environment())]).options
    assert options.sitemap
    assert not options.requisites
    assert (options.max_pages, options.max_rate, options.user_agent) == (12, 5_000_000, "123")
    assert options.include == ("*/a/*", "*/b/*")
    assert options.seeds == ()


@pytest.mark.parametrize(
    ("layer", "message"),
    [
        ({"max_page": 3}, "job.toml: there is no option 'max_page'; did you mean max_pages?"),
        ({"nonsense": 3}, "job.toml: there is no option 'nonsense'"),
        ({"scope": "galaxy"}, "job.toml: scope: 'galaxy' is none of page, prefix, host, domain, any"),
        ({"max_pages": "many"}, "job.toml: max_pages: Expected `int | null`, got `str`"),
        ({"max_pages": 0}, "job.toml: max_pages: 0 is less than 1"),
        ({"connections": -1}, "job.toml: connections: -1 is less than 1"),
        ({"delay": -0.5}, "job.toml: delay: -0.5 is less than 0"),
        ({"delay": float("nan")}, "job.toml: delay: nan is less than 0"),
        ({"delay": "a while"}, "job.toml: delay: 'a while' is not a duration; write for example 0.5s, 10m or 2h"),
        ({"max_rate": "fast"}, "job.toml: max_rate: 'fast' is not a size; write for example 20MB or 1.5GiB"),
        ({"seeds": "http://a.test/"}, "job.toml: seeds: Expected `array`, got `str`"),
        ({"allow_network": ["10.0.0.0/99"]}, "job.toml: allow_network: '10.0.0.0/99' is not a network"),
        ({"resolver": "localhost"}, "job.toml: resolver: 'localhost' is not ADDRESS:PORT"),
        ({"resolver": "127.0.0.1:99999"}, "job.toml: resolver: '127.0.0.1:99999' is not ADDRESS:PORT"),
        ({"proxy": "localhost:3128"}, "job.toml: proxy: 'localhost:3128' is not the URL of a proxy"),
        ({"set": {"frontier": 3}}, "job.toml: set: write a table for each part"),
    ],
)
def test_a_wrong_value_is_named_with_its_origin_and_what_to_write(layer: dict[str, Any], message: str) -> None:
    with pytest.raises(OptionError) as error:
        combined([("job.toml", layer)])
    assert str(error.value).startswith(message)


def test_a_word_that_is_neither_true_nor_false_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WHIMBREL_SITEMAP", "perhaps")
    with pytest.raises(OptionError, match="sitemap: 'perhaps' is neither true nor false"):
        environment()


@pytest.mark.parametrize(
    ("text", "seconds"), [("0.5s", 0.5), ("10m", 600), ("2h", 7_200), ("1d", 86_400), ("250ms", 0.25), (" 7 ", 7)]
)
def test_durations(text: str, seconds: float) -> None:
    assert duration_s(text) == seconds


@pytest.mark.parametrize(
    ("text", "count"),
    [("20MB", 20_000_000), ("1.5GiB", 1_610_612_736), ("5MB/s", 5_000_000), ("7", 7), ("3k", 3_000), ("2 kib", 2_048)],
)
def test_sizes(text: str, count: int) -> None:
    assert size_bytes(text) == count


@pytest.mark.parametrize("text", ["", "s", "-1s", "1 fortnight", "1e3s", "٣s", "1.s"])
def test_what_is_no_duration_is_no_duration(text: str) -> None:
    with pytest.raises(UnitError):
        duration_s(text)


@pytest.mark.parametrize("text", ["", "MB", "-1MB", "1 XB", "1MB/h", "1ib"])
def test_what_is_no_size_is_no_size(text: str) -> None:
    with pytest.raises(UnitError):
        size_bytes(text)


def test_settings_of_parts_are_toml_or_plain_words() -> None:
    found = parsed_settings(["effects.retry_s=5", "gate.mode=broad", "a.b=[1, 'x']", "frontier.agent = 'me=you'"])
    assert found == {
        "effects": {"retry_s": 5},
        "frontier": {"agent": "me=you"},
        "gate": {"mode": "broad"},
        "a": {"b": [1, "x"]},
    }
    assert parsed_settings(["x.injected=1\ny = 2"]) == {"x": {"injected": "1\ny = 2"}}
    for wrong in ("frontier", "effects.retry_s", "=5", "frontier=5", ".x=1"):
        with pytest.raises(OptionError, match=r"write PART\.KEY=VALUE"):
            parsed_settings([wrong])


TEXT = st.text(max_size=20)
LAYERS = st.fixed_dictionaries(
    {},
    optional={
        "seeds": st.lists(TEXT, max_size=3),
        "order": st.sampled_from(["breadth", "depth", "ascend"]),
        "sitemap": st.booleans(),
        "max_pages": st.integers(1, 2**60),
        "max_time": st.floats(0, allow_infinity=True, allow_nan=False),
        "user_agent": TEXT,
        "header": st.lists(TEXT, max_size=2),
        "set": st.dictionaries(
            TEXT,
            st.dictionaries(
                TEXT,
                st.recursive(
                    TEXT | st.integers(-(2**60), 2**60) | st.booleans() | st.floats(allow_nan=False),
                    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(TEXT, inner, max_size=2),
                    max_leaves=4,
                ),
                max_size=2,
            ),
            max_size=2,
        ),
    },
)


@given(LAYERS)
@settings(max_examples=300, deadline=None)
def test_a_job_file_holds_what_was_given(layer: dict[str, Any]) -> None:
    found = combined([("a layer # with\nlines", layer)])
    again = combined([("job.toml", tomllib.loads(job_text(found)))])
    assert again.options == found.options


def test_a_crawl_remembers_where_its_values_came_from(tmp_path: Path) -> None:
    layers: list[tuple[str, dict[str, Any]]] = [
        ("my.toml", {"delay": 1.5, "user_agent": 'x  # origin: "me"'}),
        ("command line", {"max_pages": 3}),
    ]
    found = combined([*layers, ("command line", {"set": {"frontier": {"retry_s": 4}}})])
    (tmp_path / "job.toml").write_text(job_text(found))
    kept = stored_job(tmp_path)
    assert kept.options == found.options
    assert kept.origins == found.origins
    (tmp_path / "job.toml").write_text("delay = 1.5  # slow\n[set.frontier]\nretry_s = 4\n")
    assert stored_job(tmp_path).origins["delay"] == "job.toml"
    assert stored_job(tmp_path).origins["set.effects.retry_s"] == "job.toml"


def test_a_job_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="is not there"):
        read_job(tmp_path / "none.toml")
    (tmp_path / "bad.toml").write_text("delay = \n")
    with pytest.raises(OptionError, match=r"bad\.toml: .*line 1"):
        read_job(tmp_path / "bad.toml")


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("example.org", "https://example.org/"),
        ("example.org:8080/x", "https://example.org:8080/x"),
        ("http://Example.org", "http://example.org/"),
        ("[::1]:80/x", "https://[::1]:80/x"),
    ],
)
def test_a_seed_without_a_scheme_is_https(text: str, wanted: str) -> None:
    assert [url.text for url in seeds(CrawlOptions(seeds=(text,)))] == [wanted]


@pytest.mark.parametrize("text", ["mailto:a@b", "ftp://a/", "http://", "", "javascript:alert(1)"])
def test_what_is_no_seed_is_refused(text: str) -> None:
    with pytest.raises(OptionError, match="is not an http or https URL"):
        seeds(CrawlOptions(seeds=(text,)))


def test_options_reach_the_parts_they_are_for(tmp_path: Path) -> None:
    options = CrawlOptions(
        seeds=("a.test",), mode="broad", contact="me@a.test", user_agent="Bot/2 x", connections=9, delay=0.5
    )
    found = settings_of(options, tmp_path)
    assert found["frontier"]["max_pages_per_host"] == 1_000
    assert found["frontier"]["agent"] == found["qualifier"]["agent"] == found["parser"]["agent"] == "bot"
    assert found["router"]["scope"] == "any"
    assert found["gate"] == {"mode": "broad", "delay_s": 0.5, "delays": {}, "block": ()}
    assert user_agent(options) == "Bot/2 x (+me@a.test)"
    wiring = configured(options, tmp_path, registry())
    assert next(c.capacity for c in wiring.connectors if c.target == "downloader.visits") == 9
    assert settings_of(CrawlOptions(seeds=("a.test",)), tmp_path)["router"]["scope"] == "host"
    assert settings_of(CrawlOptions(seeds=("a.test",), max_depth=0), tmp_path)["router"]["max_depth"] is None
