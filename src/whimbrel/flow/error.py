"""Everything the framework raises.

FlowError
├── WiringError            the wiring cannot run; says who is to blame and, from TOML, where
│   ├── UnknownComponent   `use` names no registered component
│   ├── UnknownProvider    `use`, or a need, names no registered or declared provider
│   ├── UnknownPort        a connector names a component or a port that does not exist
│   ├── TypeMismatch       the output's items are not what the input takes
│   ├── MissingProvider    a need that nothing is bound to
│   ├── WrongProvider      the bound provider lacks methods of the Protocol that is needed
│   ├── DirectCycle        direct connectors that call each other in a circle
│   ├── DanglingInput      an input that nothing feeds
│   ├── DanglingOutput     an output that nothing takes, and that is not optional
│   ├── BadConnector       a kind, capacity or place that does not fit
│   ├── BadConfig          a component's configuration that its class does not accept
│   └── BadWiring          the file or value itself: syntax, unknown keys, names used twice
├── ComponentFailed        a component raised; carries its name and phase
├── ConnectorBroken        the other side of a connector has gone
└── ChangeFailed           a running job could not be taken to another wiring
"""

import difflib
from collections.abc import Iterable

from whimbrel.error import UsageError, WhimbrelError


def nearest(name: str, known: Iterable[str]) -> str:
    """A hint for a mistyped name: `; did you mean 'x'?`, or what there is."""
    names = list(known)
    near = difflib.get_close_matches(name, names, 1)
    if near:
        return f"; did you mean {near[0]!r}?"
    return f"; there is {', '.join(sorted(names))}" if names else ""


class FlowError(WhimbrelError):
    """Base of all errors of the framework."""


class WiringError(FlowError, UsageError):
    """`culprit` is the name in the wiring that is to blame, `place` is FILE:LINE or empty."""

    def __init__(self, culprit: str, message: str, place: str = "") -> None:
        super().__init__(f"{place}: {message}" if place else message)
        self.culprit = culprit
        self.place = place


class UnknownComponent(WiringError):
    pass


class UnknownProvider(WiringError):
    pass


class UnknownPort(WiringError):
    pass


class TypeMismatch(WiringError):
    pass


class MissingProvider(WiringError):
    pass


class WrongProvider(WiringError):
    pass


class DirectCycle(WiringError):
    pass


class DanglingInput(WiringError):
    pass


class DanglingOutput(WiringError):
    pass


class BadConnector(WiringError):
    pass


class BadConfig(WiringError):
    pass


class BadWiring(WiringError):
    pass


class ComponentFailed(FlowError):
    """Raised inside a job around whatever a component raised; the original is its `__cause__`."""

    def __init__(self, component: str, phase: str, error: BaseException) -> None:
        super().__init__(f"{component} failed in {phase}: {type(error).__name__}: {error}")
        self.component = component
        self.phase = phase


class ConnectorBroken(FlowError):
    """Nobody consumes from this connector any more."""


class ChangeFailed(FlowError):
    """The job could not be changed as asked; the message says how far it came."""
