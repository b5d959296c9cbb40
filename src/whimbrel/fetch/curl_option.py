"""The transport's configuration, and what libcurl is told once per handle."""

import ssl
from pathlib import Path
from typing import Any, Final

import msgspec
import pycurl

from whimbrel.fetch.cookie import cookie_options
from whimbrel.flow import Config

_SUPPRESS_CONNECT_HEADERS: Final = 265
"""CURLOPT_SUPPRESS_CONNECT_HEADERS, which pycurl has no name for: a proxy's answer to CONNECT is not the server's."""
_BUFFER_BYTES: Final = 128 * 1024
"""One buffer that all transfers of a thread share: larger saves calls to read and costs nothing per connection."""

_GROUPS: Final = "X25519:P-256:X448:P-384:P-521"
"""OpenSSL would make a key of ML-KEM for every connection and send it, too, so that what is public anyway stays secret
in the days of quantum computers: a twentieth of a crawl of many small hosts, and a first message that some old
machines on the way drop because it needs two packets."""


class CurlConfig(Config, frozen=True):
    user_agent: str = "whimbrel"
    """The User-Agent header, as it is sent."""
    headers: dict[str, str] = msgspec.field(default_factory=dict)
    """Sent with each request, after our own. One of our names replaces ours. Those that are named like secrets
    (Authorization, Cookie, X-Api-Key …) go to `credential_origins` only, and Proxy-Authorization to the proxy only."""
    credential_origins: tuple[str, ...] = ()
    """Origins, like https://www.example.org, to which the secrets among `headers` go; those of the seeds unless
    given."""
    authorizations: dict[str, str] = msgspec.field(default_factory=dict)
    """An Authorization header for single origins; for seeds with `user:password@` unless given."""
    cookies: str = ""
    """A file of cookies in Netscape's format that are sent where they belong. It is only read, and cookies that servers
    set are forgotten with the exchange."""
    proxy: str = ""
    """Empty: none, whatever the environment says. With a proxy the connection is made to the proxy, wherever it is,
    and the proxy looks names up itself: a visit is then refused when *our* address for its host is private, but
    nobody can check where the proxy really goes. Put such a check into the proxy."""
    allow_networks: tuple[str, ...] = ()
    """Networks that may be connected to although they are not global, such as 127.0.0.0/8."""
    allow_hosts: tuple[str, ...] = ()
    """HOST:PORT of servers that may be connected to although they are private: `localhost` at loopback addresses, an
    address at itself. It holds for URLs with this host and port alone, wherever a link or a redirect leads."""
    ca: str = ""
    """A file of trusted certificates instead of the system's."""
    verify: bool = True
    """Whether certificates must be valid."""
    http2: bool = True
    """Offer HTTP/2 over TLS."""
    timeout_s: float = 60.0
    """For a whole exchange, from the connection to the last byte."""
    connect_timeout_s: float = 10.0
    """For the connection, TLS included."""
    first_byte_timeout_s: float = 20.0
    """From the request to the first header line."""
    idle_timeout_s: float = 15.0
    """Without a byte, once the answer has begun."""
    min_bytes_per_s: int = 100
    """On average over each window; 0 is any."""
    min_speed_window_s: float = 10.0
    """How long such a window is."""
    max_bytes: int = 20_000_000
    """Of a body as received, that is, before decoding. What goes beyond is cut."""
    max_header_bytes: int = 262_144
    """All header lines of an answer together. libcurl itself stops at 300 KB, and at 100 KB in one line."""
    spill_directory: str = ""
    """Where bodies go that are larger than `spill_bytes`; empty: the system's directory for temporary files."""
    spill_bytes: int = 131_072
    """Larger bodies go to an unnamed file instead of memory."""
    spill_reserve_bytes: int = 0
    """Free disk space that such bodies leave alone; in a crawl the journal's reserve."""
    connections: int = 1_024
    """The most exchanges under way at once, of all who use the transport."""
    kept: int = 200
    """Connections that are kept open for the next visit, those under way included; when there are more, the one idle
    longest is closed. With TLS each takes about 160 KB."""
    keep_s: int = 15
    """How long a connection may be idle and still be used again."""


def http_version(config: CurlConfig, *, http1: bool) -> int:
    """The newest that is offered to a server."""
    newest: int = pycurl.CURL_HTTP_VERSION_2TLS if config.http2 and not http1 else pycurl.CURL_HTTP_VERSION_1_1
    return newest


def check_files(config: CurlConfig) -> None:
    """FileNotFoundError for a file or directory that is not there: libcurl would say so once per visit, or never."""
    for key in ("cookies", "ca"):
        path = getattr(config, key)
        if path and not Path(path).is_file():
            raise FileNotFoundError(f"{key}: there is no file {path}")
    if config.spill_directory and not Path(config.spill_directory).is_dir():
        raise FileNotFoundError(f"spill_directory: there is no directory {config.spill_directory}")


def constant_options(config: CurlConfig) -> dict[int, Any]:
    """What is the same for all requests. The defaults of libcurl that we rely on are spelt out."""
    options: dict[int, Any] = {
        pycurl.PROTOCOLS: pycurl.PROTO_HTTP | pycurl.PROTO_HTTPS,
        # libcurl would remember every host, and look through all of them at the end of every request: 2 ms at 10,000.
        pycurl.DNS_CACHE_TIMEOUT: 0,
        pycurl.FOLLOWLOCATION: 0,
        # Without these two the environment decides.
        pycurl.PROXY: config.proxy,
        pycurl.NOPROXY: "",
        pycurl.NETRC: pycurl.NETRC_IGNORED,
        pycurl.NOSIGNAL: 1,
        pycurl.PATH_AS_IS: 1,
        pycurl.HTTPGET: 1,
        pycurl.HTTP_CONTENT_DECODING: 0,
        pycurl.HTTP_TRANSFER_DECODING: 1,
        pycurl.HTTP_VERSION: http_version(config, http1=False),
        pycurl.CONNECTTIMEOUT_MS: _milliseconds(config.connect_timeout_s),
        pycurl.TIMEOUT_MS: _milliseconds(config.timeout_s),
        pycurl.MAXAGE_CONN: config.keep_s,
        pycurl.BUFFERSIZE: _BUFFER_BYTES,
        pycurl.SSL_VERIFYPEER: int(config.verify),
        pycurl.SSL_VERIFYHOST: 2 if config.verify else 0,
    }
    if config.proxy:
        options[_SUPPRESS_CONNECT_HEADERS] = 1
    if "OpenSSL/" in pycurl.version:
        options[pycurl.SSL_EC_CURVES] = _GROUPS
    return options | cookie_options(config.cookies) | _trust(config.ca)


def _trust(ca: str) -> dict[int, Any]:
    """Where trusted certificates are. The wheel of pycurl brings its own idea, which need not be the system's."""
    if ca:
        # Without None the directory of the system would be trusted besides the file.
        return {pycurl.CAINFO: ca, pycurl.CAPATH: None}
    paths = ssl.get_default_verify_paths()
    if paths.cafile:
        # The file holds what the directory does.
        return {pycurl.CAINFO: paths.cafile, pycurl.CAPATH: None}
    return {pycurl.CAINFO: None, pycurl.CAPATH: paths.capath} if paths.capath else {}


def _milliseconds(seconds: float) -> int:
    """At least one, because for libcurl 0 is for ever."""
    return max(1, round(seconds * 1000))
