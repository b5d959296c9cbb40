"""The reference of metrics, written from the parts that declare them.

`python -m whimbrel.reference metrics > docs/metrics.md`.
"""

from typing import Final, NamedTuple

from whimbrel.control.metric import OWN, PREFIX
from whimbrel.flow import Metric
from whimbrel.job.parts import registry
from whimbrel.reference.setting import crawl_parts

_HEAD: Final = """\
# Metrics

Written from the code by `python -m whimbrel.reference metrics`; a test fails when it is out of date.

A running crawl shows its metrics at `/metrics` of its control interface ([control.md](control.md)), in the text
format of Prometheus; `whimbrel control DIR metrics` prints the same. Parts declare them beside their code, and they
are read when somebody asks. A part that is not in the wiring shows none.

## Scraping

Give the crawl a port that does not change: `whimbrel crawl … --control 127.0.0.1:9410`. It is kept in the crawl's
job, so that `resume` listens there, too. Every request needs the token from `DIR/control.json`. It is made anew with
each start, and only the owner of the directory can read it. Put it where Prometheus can, after each start:

```
jq -r .token DIR/control.json | install -m 640 -g prometheus /dev/stdin /etc/prometheus/whimbrel.token
```

```yaml
scrape_configs:
  - job_name: whimbrel
    authorization:
      credentials_file: /etc/prometheus/whimbrel.token
    static_configs:
      - targets: ["127.0.0.1:9410"]
```

Prometheus reads the file for each scrape. The crawl answers to its own address only, so a Prometheus on another
machine needs a tunnel: `ssh -L 9410:127.0.0.1:9410 HOST`. [grafana.json](grafana.json) is a dashboard over these
metrics: import it in Grafana and choose the data source.

## What the numbers mean

- A **counter** that says "of all runs", and those by outcome, status, reason and standing, go on where the last
  commit was when the crawl is resumed. The others begin at 0 with each run.
- Two things make such a counter fall: a crash, after which it is as it was at the last commit; and `requeue`, which
  takes URLs out of the counts of their outcome. Prometheus takes a fall for a restart from 0, so `rate` shows a peak
  then that was not there.
- A **histogram** has the suffixes `_bucket` (label `le`), `_sum` and `_count`.
- A **label** has one time series for each of its values.

## All metrics

| metric | kind | label | meaning | declared by |
|---|---|---|---|---|
"""


class DeclaredMetric(NamedTuple):
    metric: Metric
    parts: tuple[str, ...]
    """As the registry calls them; none for those of the crawl as a whole."""

    @property
    def name(self) -> str:
        """As Prometheus sees it."""
        return PREFIX + self.metric.name


def metrics() -> list[DeclaredMetric]:
    """Every metric that Whimbrel declares. One that a class inherits is still one."""
    known = registry()
    found: dict[Metric, list[str]] = {metric: [] for metric in OWN}
    for name in crawl_parts(known):
        kind = known.component(name) or known.provider(name)
        if kind is not None and kind.__module__.startswith("whimbrel."):
            for metric in kind.metrics:
                found.setdefault(metric, []).append(name)
    return [DeclaredMetric(metric, tuple(parts)) for metric, parts in found.items()]


def metric_reference() -> str:
    return _HEAD + "".join(map(_row, metrics()))


def _row(one: DeclaredMetric) -> str:
    metric = one.metric
    label = f"`{metric.label}`" if metric.label else ""
    parts = ", ".join(f"`{part}`" for part in one.parts) or "the crawl"
    return f"| `{one.name}` | {metric.kind} | {label} | {metric.help} | {parts} |\n"
