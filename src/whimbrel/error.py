"""Everything that Whimbrel raises for a caller to handle, in one tree. The kinds differ by what a caller can do.

WhimbrelError
├── UsageError             the request cannot be carried out as it was made: change it
│   ├── OptionError        an option or a job file (job.options)
│   ├── UnitError          a duration or a size; also a ValueError (job.unit)
│   ├── CrawlError         a directory or a setting that does not fit the crawl (job.crawl)
│   ├── NotAUrl            a text that is not an http or https URL; also a ValueError (offline.explain)
│   ├── QueryRefused       not a single SELECT (query.sql)
│   ├── WiringError        a wiring that cannot run; its kinds are drawn in flow.error
│   ├── RegistryError      a file of components that cannot be loaded (flow.registry)
│   ├── SpecError          the specification of a simulated web; also a ValueError (simweb.spec)
│   │   └── SnapshotError  a WARC file that cannot be served (simweb.snapshot)
│   ├── ListenError        a port that is taken; also an OSError (simweb.server.listen)
│   ├── WebControlError    a simulated web that cannot be reached (simweb.server.control)
│   ├── DashboardError     a dashboard that cannot be served (dashboard.library)
│   ├── StageError         a benchmark whose crawl cannot run (bench.politeness.stage)
│   ├── BenchError         a benchmark whose server cannot run (bench.simweb)
│   ├── PeersError         a comparison that cannot run (bench.peers.api)
│   ├── NoBrowser          there is no Chromium (bench.browser)
│   ├── CrawlTooNew        a later version has worked on the crawl (commit.committed)
│   ├── StateTooNew        a later version wrote the state (state.api)
│   └── StateTooOld        an earlier version did; `whimbrel resume` upgrades it (state.api)
├── NotACrawl              a directory without a crawl that can be read: begin one, or name another (commit.committed)
│   └── CommittedDamaged   the list of what is durable is damaged, `resume` writes it anew; also Damaged
├── Busy                   another process, or this one, works on the crawl: wait, or stop it
│   └── StateLocked        (state.api)
├── Damaged                files are not as they were written: `whimbrel verify`, and bring back what it names
│   ├── CrawlDamaged       a file is shorter than the last commit says, or missing (commit.recovery)
│   ├── FactsDamaged       a table (facts.api)
│   ├── ArchiveDamaged     a segment of the archive (archive.api)
│   ├── SegmentDamaged     one place in a segment (archive.read)
│   ├── StateDamaged       the database of the frontier (state.api)
│   └── SlotDamaged        a part of a slot that comes from elsewhere (state.slot)
├── StorageTrouble         the disk takes no data: make room, then `whimbrel resume`; nothing durable is lost
│   ├── JournalError       the last commits could not be made (commit.journal)
│   ├── StateFull          no room to open the state again (state.api)
│   └── StateUnavailable   the system does not open or read its files (state.api)
├── StateError             what all those that begin with State have in common (state.api)
├── QueryFailed            the database refused a statement, or a limit was reached (query.sql)
├── ImportFailed           a WARC file that cannot be read (offline.warc_import)
├── CannotFetch            libcurl or c-ares cannot begin: descriptors, threads or memory are lacking (fetch.api)
├── HandlerPoolLost        the process that forks workers was killed: resume, or reparse again (handle.handler_pool)
├── ControlError           a running crawl cannot be reached, or an action went wrong on the way (control.api)
│   ├── NotRunning         no crawl runs in the directory
│   └── Refused            an action that makes no sense now; nothing has changed
└── FlowError              the framework: a component failed, a change could not be made; drawn in flow.error

Not in the tree, since they never leave the code that they belong to: FrameBroken, ConversionStopped (facts), CommitBug
(commit), SnapshotGone, TooMuchAtOnce (query), GateShut, HostBlocked, NotAsked (qualify), Unreadable,
HeadTooLong (offline), ForkServerLost (worker), _Stop (parse), _NoSocket (fetch).
"""

from typing import ClassVar


class WhimbrelError(Exception):
    """Base of all errors that Whimbrel raises for its callers. The message says what happened and what to do next."""

    exit_code: ClassVar[int] = 1
    """What a command that it ends exits with."""
    remedy: ClassVar[str] = ""
    """What to do next, where the messages of a kind do not say it: a command adds it to them."""


class UsageError(WhimbrelError):
    """The request cannot be carried out as it was made: an option, a job file, a wiring, a directory. Change it."""

    exit_code = 2


class Busy(WhimbrelError):
    """Another process works on the crawl. Wait for it, or stop it first."""

    exit_code = 2


class Damaged(WhimbrelError):
    """Files of the crawl are not as they were written. `whimbrel verify DIR` names them; bring them back."""

    remedy = "`whimbrel verify DIR` names everything that is damaged"


class StorageTrouble(WhimbrelError):
    """The disk takes no data. Nothing that was committed is lost: make room, then resume the crawl."""
