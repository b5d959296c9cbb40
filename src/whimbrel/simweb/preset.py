"""Webs that come ready made, to be changed with options or a file."""

from enum import StrEnum

from whimbrel.simweb.exhibit import PAGE_EXHIBITS, TROUBLES
from whimbrel.simweb.exhibit.robots import VARIANTS
from whimbrel.simweb.spec import WebSpec


class Preset(StrEnum):
    PLAIN = "plain"
    """Pages and nothing else."""
    DEMO = "demo"
    """Twenty hosts with a few harmless surprises; all of it can be crawled without robots.txt."""
    WILD = "wild"
    """Every exhibit, robots.txt variant and trouble, each now and then; sizes and page counts with heavy tails."""


def spec_of(preset: Preset) -> WebSpec:
    match preset:
        case Preset.PLAIN:
            return WebSpec()
        case Preset.DEMO:
            surprises = ("redirect-301", "redirect-chain", "status-404", "status-410", "status-403", "html-broken")
            return WebSpec(hosts=20, pages=50, exhibits=dict.fromkeys((*surprises, "odd-urls", "chunked"), 0.01))
        case Preset.WILD:
            return WebSpec(
                hosts=2_000,
                pages=50,
                pages_tail=True,
                bytes_tail=True,
                https=0.3,
                http10=0.03,
                latency_ms=20,
                exhibits=dict.fromkeys(PAGE_EXHIBITS, 0.004),
                robots=dict.fromkeys(VARIANTS, 0.6 / len(VARIANTS)),
                trouble=dict.fromkeys(TROUBLES, 0.1 / len(TROUBLES)),
                mirrors=0.04,
                soft404=0.05,
            )
