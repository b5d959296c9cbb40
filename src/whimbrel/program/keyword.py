"""The options of a crawl as keywords: those of the command line and of job files, typed for editors and checkers."""

from os import PathLike
from typing import Any, Literal, TypedDict


class Keywords(TypedDict, total=False):
    """`job.options.CrawlOptions` says what each means; durations and sizes also take units: `delay="2s"`."""

    mode: Literal["site", "broad"]
    scope: Literal["page", "prefix", "host", "domain", "any"]
    order: Literal["breadth", "depth", "ascend"]
    follow: Literal["links", "handlers"]
    sitemap: bool
    requisites: bool
    max_pages: int
    max_pages_per_host: int
    max_depth: int
    max_time: float | str
    max_bytes: int | str
    max_file_size: int | str
    max_rate: int | str
    max_pages_per_s: float
    delay: float | str
    delays: dict[str, float | str]
    connections: int
    robots: Literal["seed", "rfc9309"]
    user_agent: str
    contact: str
    include: list[str] | tuple[str, ...]
    exclude: list[str] | tuple[str, ...]
    mime: list[str] | tuple[str, ...]
    block: list[str] | tuple[str, ...]
    header: list[str] | tuple[str, ...]
    cookies: str | PathLike[str]
    proxy: str
    allow_network: list[str] | tuple[str, ...]
    allow_host: list[str] | tuple[str, ...]
    resolver: str
    ca: str | PathLike[str]
    control: str
    wiring: str | PathLike[str]
    with_files: list[str] | tuple[str, ...]
    set: dict[str, dict[str, Any]]
