"""How long a host, its domain and its address are left alone after a request, by the gate's configuration."""

from collections.abc import Mapping

from whimbrel.frontier.option import GateConfig
from whimbrel.visit import HostName


class Delays:
    """A reading of one configuration; another one gets another reading."""

    def __init__(self, config: GateConfig) -> None:
        fixed = config.delay_s
        self._config = config
        self.none = fixed == 0
        """For one's own servers: no delay, and no cap but one request per host."""
        self.address_s = config.address_s if fixed is None else fixed
        self.address_cap = 0 if self.none else config.address_cap
        self.crowd_cap = 0 if self.none else config.crowd_cap
        self.domain_cap = 0 if self.none else 1
        self._domain_s = config.domain_s if fixed is None else fixed
        self._single: Mapping[str, float] = config.delays

    def domain_s(self, domain: str) -> float:
        return self._single.get(domain, self._domain_s)

    def host_s(
        self, elapsed_s: float, crawl_delay_s: float, *, qualifying: bool = False, host: HostName | None = None
    ) -> float:
        config = self._config
        single_s = self._single_s(host) if self._single and host is not None else None
        if single_s is not None:
            own_s = single_s
        elif config.delay_s is not None:
            own_s = config.delay_s
        elif config.mode == "broad":
            own_s = 0.0 if qualifying else config.broad_delay_s
        else:
            own_s = min(config.max_delay_s, max(config.min_delay_s, 2 * elapsed_s))
        if qualifying and not self.none:
            own_s = max(own_s, config.qualified_s)
        return max(own_s, min(crawl_delay_s, config.max_crawl_delay_s))

    def cut_note(self, crawl_delay_s: float) -> str:
        most_s = self._config.max_crawl_delay_s
        return f"Crawl-delay {crawl_delay_s:g} s cut to {most_s:g} s" if crawl_delay_s > most_s else ""

    def _single_s(self, host: HostName) -> float | None:
        """The delay that was asked for this host, or for its domain."""
        own_s = self._single.get(host.host)
        return self._single.get(host.domain) if own_s is None else own_s
