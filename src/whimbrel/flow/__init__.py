"""The component framework: programs as graphs of components that can be drawn, watched and changed while they run.

After Hunyadi 2007 §3. It knows nothing of crawling.

- A *component* (`component.py`) consumes, transforms and produces. A synchronous one (`Sync`) is a function: it waits
  until every input it declares has an item, and is done with it when all it produced has been taken. An asynchronous
  one (`Async`) runs itself and is woken by any input and by room on any output; `Concurrent` (`concurrent.py`) is one
  that has several items under way. All declare typed ports (`port.py`).
- A *connector* joins an output to an input. `direct` is a function call: chains of synchronous components fuse
  (`chain.py`). `queue` is a bounded FIFO (`queue.py`). Whatever the kind, the contract is the one in `api.py`: ordered,
  bounded, and an item is kept until its consumer has acknowledged it. Components cannot tell which kind they have.
- A *provider* is a service behind a Protocol that components and other providers declare they need.
- A *wiring* (`wiring.py`) is a frozen value that names all of these. It is built in Python or read from TOML
  (`toml.py`), resolved through a registry (`registry.py`), checked as a whole (`check.py`) and drawn (`draw.py`).
- A *job* (`job.py`) is a wiring that runs. It owns every task: it opens providers and components, runs *instances*
  (`instance.py`, joined in `graph.py`), drains them, closes them, and ends with a *report* (`report.py`) that says what
  became of everything. `change.py` takes a running job from one wiring to another, by what `difference.py` finds
  between them.

The life of an item: a component produces it; the connector takes it, or makes the producer wait; a consumer takes it in
a numbered batch, works on it, hands on what came of it, and acknowledges; only then does the connector forget it. A
consumer that dies leaves the items it has not acknowledged in the connector, where the report counts them.

A part says which settings it takes over while it runs (`live`), why it cannot be replaced (`fixed`), which settings
must stay for good (`lasting`), and what can be measured about it (`metric.py`).

`error.py` draws everything that is raised.

Everything of a job runs on one event loop, except the `process` of synchronous components placed on a thread.
"""

from whimbrel.flow.api import Batch, Connector, Intake, Supply
from whimbrel.flow.check import Plan, check
from whimbrel.flow.component import Async, Component, Config, Provider, Sync
from whimbrel.flow.concurrent import Concurrent
from whimbrel.flow.error import (
    BadWiring,
    ChangeFailed,
    ComponentFailed,
    ConnectorBroken,
    FlowError,
    WiringError,
)
from whimbrel.flow.job import Job, Timeouts
from whimbrel.flow.metric import Histogram, Metric
from whimbrel.flow.port import Delivery, In, Inlet, Needs, Out, Outlet
from whimbrel.flow.registry import Registry
from whimbrel.flow.report import Failure, Report
from whimbrel.flow.wiring import ComponentSpec, ConnectorSpec, ProviderSpec, Wiring

__all__ = [
    "Async",
    "BadWiring",
    "Batch",
    "ChangeFailed",
    "Component",
    "ComponentFailed",
    "ComponentSpec",
    "Concurrent",
    "Config",
    "Connector",
    "ConnectorBroken",
    "ConnectorSpec",
    "Delivery",
    "Failure",
    "FlowError",
    "Histogram",
    "In",
    "Inlet",
    "Intake",
    "Job",
    "Metric",
    "Needs",
    "Out",
    "Outlet",
    "Plan",
    "Provider",
    "ProviderSpec",
    "Registry",
    "Report",
    "Supply",
    "Sync",
    "Timeouts",
    "Wiring",
    "WiringError",
    "check",
]
