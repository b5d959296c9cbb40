"""The actions: everything that can be done to a running crawl. Their names and fields are a contract."""

from typing import Annotated, Any, Final, Literal, get_args

import msgspec

from whimbrel.error import WhimbrelError

Text = Annotated[str, msgspec.Meta(min_length=1, max_length=2_000)]
Texts = Annotated[tuple[Text, ...], msgspec.Meta(min_length=1, max_length=100_000)]


class ControlError(WhimbrelError):
    """An action that was not carried out, or a crawl that cannot be reached; the message says why and what to do."""

    exit_code = 2


class NotRunning(ControlError):
    """No crawl runs in the directory."""


class Refused(ControlError):
    """The action makes no sense for this crawl now. Nothing has changed."""

    exit_code = 1


class Pause(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Begin no more requests; those under way end. A crawl that is resumed is not paused."""


class Unpause(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Go on after a pause."""


class Stop(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Let the visits under way end, then end the crawl; `whimbrel resume` goes on later."""


class Abort(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """End the crawl now. Visits under way are made again after `whimbrel resume`; nothing else is lost."""


class Checkpoint(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Commit. Answers when everything up to now is durable."""


class Speed(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Go faster or slower. What is not given stays as it is; 0 lifts a limit on pages or bytes."""

    pages_per_s: Annotated[float, msgspec.Meta(ge=0, le=1_000_000)] | None = None
    """Requests for pages per second, all hosts together."""
    bytes_per_s: Annotated[int, msgspec.Meta(ge=0, le=1_000_000_000_000)] | None = None
    """Of bodies, all hosts together."""
    connections: Annotated[int, msgspec.Meta(ge=1, le=10_000)] | None = None
    """Requests under way at once."""
    delay_s: Annotated[float, msgspec.Meta(ge=0, le=86_400)] | Literal["default"] | None = None
    """Seconds between two requests to a host, from each host's next request on; `default` is what the mode says."""
    of: Annotated[str, msgspec.Meta(max_length=2_000)] = ""
    """The host or domain that `delay_s` is for; all when empty."""


class Block(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Make no more requests to hosts, domains and sites, whose queues wait; or for URLs that match a pattern, which end
    as `denied` when their turn comes."""

    what: Texts
    """Hosts and domains on all their ports, a host at one port (`a.test:8080`), sites (`http://a.test`), and patterns
    with `*` of URLs."""


class Unblock(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The reverse of `block`: queues go on. URLs that a pattern has ended are for `requeue`."""

    what: Texts
    """As they were blocked."""


class Allow(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Ask a host that is disqualified, parked or given up again, at once."""

    host: Text
    """Its name; with a port and a scheme where they are not the usual ones."""
    without_robots: bool = False
    """Where its robots.txt cannot be obtained, visit it all the same. For hosts whose owner you have asked."""


class Seed(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """More URLs to begin with; the scope goes along."""

    urls: Texts
    """Without a scheme, https."""


class Requeue(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Visit URLs once more that ended without a page."""

    outcome: Literal["failed", "gone", "denied"] = "failed"
    """How they ended."""
    reason: Annotated[str, msgspec.Meta(max_length=200)] = ""
    """Only those with this reason: `timeout`, `http-500`."""
    host: Annotated[str, msgspec.Meta(max_length=2_000)] = ""
    """Only those of this host, or of this site: `http://a.test:8080`."""
    most: Annotated[int, msgspec.Meta(ge=1, le=10_000_000)] = 1_000_000
    """At most so many."""


class Set(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Change options of the crawl and settings of its parts: `{"order": "depth", "router.max_depth": 5}`."""

    settings: Annotated[dict[Text, Any], msgspec.Meta(min_length=1, max_length=1_000)]
    """Names as in a job file. `PART.use` puts another provider or component in a part's place, `PART.instances` is how
    many of a component there are."""


class Bind(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Put another provider in the place of one: `bloom-seen` for `seen`."""

    provider: Text
    """Its name in the wiring."""
    use: Text
    """What takes its place: a registered name."""
    config: dict[Text, Any] = {}
    """Its settings. Those of the one that goes are not kept."""


class Joint(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A connector."""

    source: Text = msgspec.field(name="from")
    """`component.port`."""
    target: Text = msgspec.field(name="to")
    """`component.port`."""
    kind: Literal["direct", "queue"] = "queue"
    """A call, or items that wait for their consumer."""
    capacity: Annotated[int, msgspec.Meta(ge=1, le=1_000_000)] = 64
    """Items that a queue holds; who would put one more waits."""
    batch: Annotated[int, msgspec.Meta(ge=1, le=1_000_000)] = 16
    """Items that a queue hands over at once, at most."""


class Add(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Add a component to the running wiring, or another in the place of one of the same name."""

    name: Text
    """What the wiring is to call it."""
    use: Text
    """A registered name."""
    config: dict[Text, Any] = {}
    """Its settings."""
    needs: dict[Text, Text] = {}
    """Providers, by the names of its needs."""
    instances: Annotated[int, msgspec.Meta(ge=1, le=1_000)] = 1
    """How many of it there are, side by side."""
    place: Literal["loop", "thread"] = "loop"
    """Where it runs: on the crawl's loop, or on a thread of its own."""
    connectors: tuple[Joint, ...] = ()
    """That join it to others."""
    parts: tuple[Joint, ...] = ()
    """Connectors that are taken away for it."""


class Remove(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Remove a component with the connectors that touch it."""

    name: Text
    """What the wiring calls it."""
    connectors: tuple[Joint, ...] = ()
    """That join what it leaves behind."""


Action = (
    Pause
    | Unpause
    | Stop
    | Abort
    | Checkpoint
    | Speed
    | Block
    | Unblock
    | Allow
    | Seed
    | Requeue
    | Set
    | Bind
    | Add
    | Remove
)
ACTIONS: Final[dict[str, type[Any]]] = {kind.__name__.lower(): kind for kind in get_args(Action)}
"""By name."""


def name_of(action: Action) -> str:
    return type(action).__name__.lower()


class Done(msgspec.Struct, frozen=True, kw_only=True):
    """An action that was carried out."""

    action: str
    """Its name."""
    effect: str
    """In words."""
    commit: int = 0
    """The last commit that is durable; for a checkpoint the one that was asked for."""
    count: int = 0
    """Of URLs or hosts, where the action is about any."""
