"""Where the dashboard's numbers come from: the running crawl, or what the last commit left."""

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from whimbrel.commit.committed import NotACrawl, read_committed
from whimbrel.control.api import Action, ControlError, Done
from whimbrel.control.block import hosts_in, what_waits
from whimbrel.control.client import Control
from whimbrel.control.history import Sample
from whimbrel.control.machine import stored_bytes
from whimbrel.control.status import JointView, PartView, Status, WiringView
from whimbrel.dashboard.past import PAST_SQL, past_samples
from whimbrel.flow import FlowError
from whimbrel.flow.wiring import used_name
from whimbrel.job.crawl_wiring import configured
from whimbrel.job.options import OptionError
from whimbrel.job.parts import registry
from whimbrel.job.progress import final
from whimbrel.job.stored import stored_job
from whimbrel.offline.explain import Explainer, NotAUrl, UrlStory
from whimbrel.query.crawl_data import CrawlData
from whimbrel.query.host_count import known_hosts
from whimbrel.query.sql import QueryConfig, QueryFailed, QueryRefused
from whimbrel.terminal import counted
from whimbrel.url import parse
from whimbrel.url.block_list import is_pattern
from whimbrel.version import __version__

HOST_COLUMNS = (
    *("site", "host", "qualification", "queued", "fetched", "failed", "delay_s", "ip", "robots_status", "last_error"),
)
MOST_ROWS = 10_000
"""Of hosts that are looked at before one is blocked: those with the longest queues."""
_ROWS = 1_000
"""Of an answer that are shown."""


class Moment(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that the panels show all the time."""

    live: bool
    """Whether a crawl runs; else it is the last commit."""
    status: Status
    wiring: WiringView
    history: list[Sample]
    blocked: tuple[str, ...] = ()


class QueryAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """The answer to a question in SQL; `error` when there is none."""

    columns: list[str] = []
    rows: list[dict[str, Any]] = []
    total: int = 0
    error: str = ""


class CrawlSource:
    """Blocks: to be called on threads."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._control = Control(directory, caller="dashboard")
        self._opened = CrawlData([directory], QueryConfig(time_limit_s=30.0))
        self._known_past: tuple[int, list[Sample]] | None = None
        """Of the last commit, by its number."""

    def moment(self) -> Moment:
        """NotACrawl when there is nothing at all."""
        try:
            return Moment(
                live=True,
                status=self._control.status(),
                wiring=self._control.wiring(),
                history=self._control.history(600),
                blocked=tuple(self._control.config().options["block"]),
            )
        except ControlError:
            return self._committed()

    def _committed(self) -> Moment:
        last = read_committed(self.directory)
        status = Status(
            directory=str(self.directory),
            state="not running" if last.state == "running" else last.state,
            version=__version__,
            pid=0,
            progress=msgspec.structs.replace(final(last), hosts=known_hosts(self.directory, last)),
            commit=last.number,
            commit_age_s=0.0,
            memory_bytes=0,
            cpu_s=0.0,
            disk_free_bytes=shutil.disk_usage(self.directory).free,
            stored_bytes=stored_bytes(self.directory),
            warnings=[],
        )
        wiring, blocked = self._stored()
        return Moment(live=False, status=status, wiring=wiring, history=self._past(last.number), blocked=blocked)

    def _past(self, commit: int) -> list[Sample]:
        """Asked for once for each commit."""
        if self._known_past is None or self._known_past[0] != commit:
            self._known_past = commit, past_samples(self.ask(PAST_SQL).rows)
        return self._known_past[1]

    def _stored(self) -> tuple[WiringView, tuple[str, ...]]:
        """The wiring that the job describes; an empty one where its files are gone, or nobody wrote a job."""
        try:
            options = stored_job(self.directory).options
            found = configured(options, self.directory, registry(*map(Path, options.with_files)))
        except (OptionError, FlowError, OSError):
            return WiringView(name="", parts=[], connectors=[]), ()
        parts = [
            PartView(name=one.name, use=used_name(one.use), kind=kind)
            for kind, specs in (("component", found.components), ("provider", found.providers))
            for one in specs
        ]
        joints = [JointView(source=one.source, target=one.target, kind=one.kind) for one in found.connectors]
        return WiringView(name=found.name, parts=parts, connectors=joints), options.block

    def act(self, action: Action) -> Done:
        """ControlError when it was not carried out."""
        return self._control.carry_out(action)

    def hosts(self, search: str, order: str, most: int) -> QueryAnswer:
        """As they are now, where a crawl runs; those that are not in its memory as they were."""
        text = search.replace("'", "''")
        sql = f"""select {", ".join(HOST_COLUMNS)} from hosts where contains(site, '{text}')
                  order by {"host, site" if order == "host" else f"{order} desc"} limit {most}"""  # noqa: S608 - only SELECT is run
        found = self.ask(sql)
        try:
            live = [msgspec.to_builtins(view) for view in self._control.hosts(search, order, most)]
        except ControlError:
            return found
        now = [{name: row[name] for name in HOST_COLUMNS} for row in live]
        known = {row["site"] for row in now}
        rows = now + [row for row in found.rows if row["site"] not in known]
        rows.sort(key=lambda row: row["host"] if order == "host" else -row[order])
        return QueryAnswer(columns=list(HOST_COLUMNS), rows=rows[:most], total=len(rows))

    def block_question(self, what: Sequence[str]) -> str:
        """What is asked before something is blocked: how many queued URLs that concerns, and whether the crawl goes
        on."""
        known = tuple(self._control.config().options["block"])
        rows = self.hosts("", "queued", MOST_ROWS).rows
        hosts = [(url, row["queued"]) for row in rows if (url := parse(row["site"])) is not None]
        new = [one for one in what if one not in known]
        waiting, ends = what_waits(new, known, hosts, self._control.status().progress.queued)
        said = f"Make no more requests to {', '.join(what[:5])}{' …' if len(what) > 5 else ''}?"
        if any(map(is_pattern, what)):
            said += " Queued URLs that match a pattern end as denied when their turn comes."
        if waiting:
            said += f" {counted(waiting, 'queued URL')} {'waits' if waiting == 1 else 'wait'} until you unblock it."
        if ends:
            return f"{said} Nothing else is queued: the crawl ends. {self._ways_back(what)}"
        return f"{said} The crawl ends when nothing else is left to visit." if waiting else said

    def _ways_back(self, what: Sequence[str]) -> str:
        directory = self.directory
        return (
            f"To go on later: whimbrel control {directory} unblock {' '.join(what[:5])}, then whimbrel resume "
            f"{directory}."
        )

    def blocking(self, site: str) -> tuple[str, ...]:
        """What a site is blocked by; nothing when it is not."""
        url = parse(site)
        known = tuple(self._control.config().options["block"])
        return tuple(one for one in known if url is not None and hosts_in([one]).holds(url))

    def ask(self, sql: str) -> QueryAnswer:
        """One SELECT. What is shown is cut; `total` is not."""
        try:
            found = self._opened.sql(sql)
        except (QueryRefused, QueryFailed, NotACrawl) as error:
            return QueryAnswer(error=str(error))
        shown = [
            {name: plain(value) for name, value in row.items()} for row in found.arrow().slice(0, _ROWS).to_pylist()
        ]
        return QueryAnswer(columns=found.columns, rows=shown, total=len(found))

    def story(self, text: str) -> UrlStory | str:
        """What became of a URL; a sentence when it is none, or nothing can be told."""
        try:
            with Explainer(self.directory) as explainer:
                return explainer.story(text)
        except (NotAUrl, NotACrawl, OptionError, FlowError, QueryFailed) as error:
            return str(error)


def plain(value: Any) -> Any:
    """As a browser can show it."""
    if value is None or isinstance(value, bool | int | float | str):
        # JavaScript's numbers end at 2^53.
        return str(value) if isinstance(value, int) and not isinstance(value, bool) and abs(value) >= 2**53 else value
    if isinstance(value, bytes):
        return value.hex()
    return str(value)
