"""A host of the simulated web: a function of the specification and a number, found again from its name."""

import math
from functools import lru_cache
from typing import Final

import msgspec

from whimbrel.simweb.dice import Dice, Shares
from whimbrel.simweb.spec import WebSpec
from whimbrel.simweb.topic import TOPIC_NAMES

LABELS: Final = ("www", "blog", "shop", "docs", "news", "wiki", "data", "m")
DEAD_ADDRESS: Final = "127.1.0.1"
"""The server holds this address so that a connection to it is never answered."""
EXHIBIT_NUMBERS: Final = 1 << 40
"""Hosts from here on are exhibits of their own, one for each host exhibit."""
_U32: Final = 2**32
_MAX_TAIL_PAGES: Final = 1_000_000


class SimHost(msgspec.Struct, frozen=True, gc=False):
    """`content` is the number whose pages it serves: its own, or that of the host it mirrors."""

    name: str
    number: int
    content: int
    scheme: str
    port: int
    topic: str
    pages: int
    robots: str
    """A robots.txt variant of `exhibit.robots`."""
    trouble: str
    """A host trouble of `exhibit.trouble`, or empty."""
    soft404: bool
    http10: bool
    latency_s: float
    bandwidth: int
    """Bytes per second; 0 is unlimited."""
    idle_s: float
    addresses: tuple[str, ...]

    @property
    def origin(self) -> str:
        """Scheme, host and port as in a URL, without a slash."""
        default = 443 if self.scheme == "https" else 80
        return f"{self.scheme}://{self.name}" + ("" if self.port == default else f":{self.port}")


class SimHosts:
    """Finds hosts by number and by name. Keeps the last few thousand it made; nothing else."""

    def __init__(self, spec: WebSpec, exhibits: tuple[str, ...]) -> None:
        """`exhibits` are the labels of hosts under `exhibit.SUFFIX`: `robots-VARIANT` or a trouble."""
        self.spec = spec
        self._dice = Dice(spec.seed)
        self._robots = Shares(spec.robots, rest="allow-all")
        self._trouble = Shares(spec.trouble, rest="")
        self._exhibits = exhibits
        self._exhibit_number = {label: EXHIBIT_NUMBERS + at for at, label in enumerate(exhibits)}
        self._domain_suffix = f".{spec.suffix}"
        self._exhibit_suffix = f".exhibit.{spec.suffix}"
        self._cdn_addresses = max(1, math.ceil(spec.hosts * spec.cdn / 10_000))
        self._shared_addresses = max(1, int(spec.hosts * spec.shared / 6))
        # Where every host has the same origin form, a link needs no host to be made.
        self._plain = spec.https == 0 and not any(name.startswith(("tls-", "connect-")) for name in spec.trouble)
        self._tail = f":{spec.http_port}" if spec.http_port != 80 else ""
        self.get = lru_cache(maxsize=8192)(self._make)

    def name(self, number: int) -> str:
        if number >= EXHIBIT_NUMBERS:
            return self._exhibits[number - EXHIBIT_NUMBERS] + self._exhibit_suffix
        domain, label = divmod(number, self.spec.hosts_per_domain)
        return f"{LABELS[label]}.s{domain}{self._domain_suffix}"

    def find(self, name: str) -> SimHost | None:
        """The host of that name, or None when this web has none."""
        if name.endswith(self._exhibit_suffix):
            number = self._exhibit_number.get(name.removesuffix(self._exhibit_suffix))
            return None if number is None else self.get(number)
        if not name.endswith(self._domain_suffix):
            return None
        label, _, domain = name.removesuffix(self._domain_suffix).partition(".")
        digits = domain[1:]
        if label not in LABELS or domain[:1] != "s" or not (digits.isascii() and digits.isdigit()) or len(digits) > 8:
            return None
        number = int(digits) * self.spec.hosts_per_domain + LABELS.index(label)
        if number >= self.spec.hosts or self.name(number) != name:
            return None
        return self.get(number)

    def origin(self, number: int) -> str:
        if self._plain:
            return f"http://{self.name(number)}{self._tail}"
        return self.get(number).origin

    def pages(self, number: int) -> int:
        """How many ordinary pages the content of that number has."""
        if not self.spec.pages_tail:
            return self.spec.pages
        share = self._dice.share(b"pages", number)
        # Pareto with exponent 1.5, whose mean is three times its minimum.
        return min(_MAX_TAIL_PAGES, max(1, int(self.spec.pages / 3 / (1 - share) ** (1 / 1.5))))

    def topic(self, number: int) -> str:
        return TOPIC_NAMES[self._dice.draws(12, b"host", number)[10] % len(TOPIC_NAMES)]

    def _make(self, number: int) -> SimHost:
        spec = self.spec
        draws = self._dice.draws(12, b"host", number)
        label = self._exhibits[number - EXHIBIT_NUMBERS] if number >= EXHIBIT_NUMBERS else ""
        robots, trouble = self._robots.pick(draws[0]), self._trouble.pick(draws[1])
        if label:
            robots = label.removeprefix("robots-") if label.startswith("robots-") else "allow-all"
            trouble = label if label.startswith(("dns-", "connect-", "tls-")) else ""
        mirror = not label and number % 2 == 1 and draws[2] / _U32 < 2 * spec.mirrors
        content = number - 1 if mirror else number
        secure = trouble.startswith("tls-") or (not label and draws[3] / _U32 < spec.https)
        spread = 0.2 * 25 ** (draws[4] / _U32)  # 0.2 to 5, the same chance for each factor
        return SimHost(
            name=self.name(number),
            number=number,
            content=content,
            scheme="https" if secure else "http",
            port=_port(spec, trouble, secure=secure),
            topic=self.topic(content) if mirror else TOPIC_NAMES[draws[10] % len(TOPIC_NAMES)],
            pages=self.pages(content) if not label else 1,
            robots=robots,
            trouble=trouble,
            soft404=draws[5] / _U32 < spec.soft404,
            http10=draws[6] / _U32 < spec.http10,
            latency_s=spec.latency_ms / 1000 * (spread if spec.latency_spread else 1.0),
            bandwidth=int(spec.bandwidth_kbps * 1000 / spread),
            idle_s=spec.idle_s * (0.33 + 1.34 * draws[7] / _U32),
            addresses=self._addresses(number, draws[8], draws[9], trouble, robots),
        )

    def _addresses(self, number: int, kind_draw: int, draw: int, trouble: str, robots: str) -> tuple[str, ...]:
        spec = self.spec
        kind = kind_draw / _U32
        own = f"127.{16 + draw % 239}.{draw >> 8 & 255}.{1 + (draw >> 16) % 254}"
        if trouble == "connect-silent":
            return (DEAD_ADDRESS,)
        if trouble == "connect-first-silent":
            return (DEAD_ADDRESS, own)
        if robots == "first-address":
            return (f"127.255.{draw >> 8 & 255}.{1 + (draw >> 16) % 254}", own)
        if kind < spec.cdn:
            crowded = draw % self._cdn_addresses
            return (f"127.2.{crowded // 254}.{1 + crowded % 254}",)
        if kind < spec.cdn + spec.shared:
            group = self._dice.draws(1, b"group", draw % self._shared_addresses)[0]
            return (f"127.{3 + group % 13}.{group >> 8 & 255}.{1 + (group >> 16) % 254}",)
        if kind < spec.cdn + spec.shared + spec.several:
            more = self._dice.draws(1 + draw % 3, b"address", number)
            return (own, *(f"127.{16 + d % 239}.{d >> 8 & 255}.{1 + (d >> 16) % 254}" for d in more))
        return (own,)


def _port(spec: WebSpec, trouble: str, *, secure: bool) -> int:
    if trouble == "connect-refused":
        return spec.refused_port
    return spec.https_port if secure and trouble != "tls-absent" else spec.http_port
