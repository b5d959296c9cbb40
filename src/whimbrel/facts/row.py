"""Rows of the tables by the names of their columns, which are those of `TABLES` in the same order.

A struct with 30 named fields is made in a third of the time that a named tuple takes.
"""

import msgspec


class Row(msgspec.Struct, frozen=True, gc=False):
    """Of one of the tables."""


class CaptureRow(Row, frozen=True, gc=False):
    capture_id: int
    id: int
    url: str
    host: str
    outcome: str
    via: str
    status: int
    mime: str
    charset: str
    length: int
    wire_bytes: int
    title: str
    description: str
    language: str
    canonical: str
    robots_meta: str
    depth: int
    fetched_at: float
    etag: str
    last_modified: str
    digest: str
    fingerprint: int
    simhash: int | None
    duplicate_of: str
    duplicate_of_id: int | None
    truncated: str
    warc_file: str
    warc_offset: int
    warc_length: int
    text: str


class FetchRow(Row, frozen=True, gc=False):
    url: str
    host: str
    ip: str
    outcome: str
    reason: str
    status: int
    http_version: str
    started_at: float
    elapsed_ms: float
    bytes: int
    attempt: int
    redirect_to: str
    retry_at: float | None
    discovered_from: str


class HostRow(Row, frozen=True, gc=False):
    site: str
    host: str
    domain: str
    slot: int
    ip: str
    qualification: str
    until: float | None
    robots_date: float | None
    robots_status: int
    robots_failures: int
    delay_s: float
    queued: int
    fetched: int
    failed: int
    last_error: str


class EventRow(Row, frozen=True, gc=False):
    at: float
    actor: str
    action: str
    subject: str
    detail: str


class HandledRow(Row, frozen=True, gc=False):
    run: int
    capture_id: int
    url: str
    handlers: str
    version: str
    at: float
    outcome: str
    items: int
    elapsed_ms: float
    error: str
    printed: str
