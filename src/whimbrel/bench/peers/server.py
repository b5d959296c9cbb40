"""Who serves a corpus: nginx where it is installed, else the simulated web's own server.

A server starts anew for every run, so that its log is that run's and no connection is left from the one before.
"""

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Final, Protocol

from whimbrel.bench.peers.api import HTTP_PORT, HTTPS_PORT, PeersError
from whimbrel.bench.peers.corpus import Corpus, write_warc
from whimbrel.bench.peers.names import answering
from whimbrel.bench.peers.page import HOSTS_PER_DOMAIN, domain
from whimbrel.simweb.server.certificate import Authority
from whimbrel.simweb.server.log import read_log
from whimbrel.simweb.server.serve import await_running

_START_S: Final = 10.0
_NGINX_PATH: Final = f"{os.defpath}:/usr/sbin:/usr/local/sbin"
_CONFIG: Final = """\
daemon off;
{user}worker_processes 1;
pid {folder}/nginx.pid;
error_log {folder}/error.log;
events {{ worker_connections 4096; }}
http {{
  types {{ text/html html; text/plain txt; }}
  charset {charset};
  access_log off;
  client_body_temp_path {folder}/body;
  proxy_temp_path {folder}/proxy;
  fastcgi_temp_path {folder}/fastcgi;
  uwsgi_temp_path {folder}/uwsgi;
  scgi_temp_path {folder}/scgi;
  log_format fetch '$request_method $status $scheme://$host$request_uri $request_completion';
  map $ssl_server_name $domain {{ ~^[^.]+\\.(?<of>[a-z0-9]+\\.test)$ $of; default none; }}
  sendfile on;
  keepalive_requests 1000000;
  keepalive_timeout 60s;
  open_file_cache max=2000;
  server {{
    listen {http} backlog=4096;
    listen {https} ssl http2 backlog=4096;
    server_name _;
    ssl_certificate {folder}/certificates/$domain.pem;
    ssl_certificate_key {folder}/certificates/$domain.pem;
    root {sites}/$host;
    {found}
    gzip_static {gzip};
    access_log {folder}/access.log fetch;
  }}
}}
"""


class CorpusLog(Protocol):
    def pages(self) -> list[str]:
        """The URL of each page sent in full, as often as it was; robots.txt left out. Read after the server's end."""
        ...


class CorpusServer(Protocol):
    """`ca` is the certificate that its clients must trust."""

    name: str
    ca: Path

    def serving(self, state: Path, dns_port: int) -> AbstractContextManager[CorpusLog]:
        """Serve over http, https and DNS for as long as the context lasts."""
        ...


class Nginx:
    def __init__(self, program: str, corpus: Corpus, state: Path) -> None:
        said = subprocess.run([program, "-v"], capture_output=True, text=True, check=True).stderr  # noqa: S603
        self.name = said.strip().rpartition(" ")[2]
        self._program = program
        self._corpus = corpus
        self._certificates = state / "certificates"
        self._certificates.mkdir(parents=True)
        authority = Authority(state)
        self.ca = authority.path
        for first in range(0, corpus.spec.hosts, HOSTS_PER_DOMAIN):
            name = domain(first)
            (self._certificates / f"{name}.pem").write_bytes(authority.issue((f"*.{name}",)))
            if corpus.spec.scheme == "http":
                break  # The configuration has a port for https; nobody asks there.

    @contextmanager
    def serving(self, state: Path, dns_port: int) -> Iterator[CorpusLog]:
        (state / "certificates").symlink_to(self._certificates)
        config = _CONFIG.format(
            folder=state,
            user="user root;\n" if os.geteuid() == 0 else "",
            http=HTTP_PORT,
            https=HTTPS_PORT,
            sites=self._corpus.sites,
            # Old manuals have other charsets, and say so in their pages.
            charset="off" if self._corpus.spec.books else "utf-8",
            # A page under two names would count twice.
            found="if ($args) { return 404; } index none;" if self._corpus.spec.books else "rewrite ^/$ /index.html;",
            gzip="always" if self._corpus.spec.is_gzipped else "off",
        )
        (state / "nginx.conf").write_text(config, encoding="utf-8")
        command = [self._program, "-p", str(state), "-c", str(state / "nginx.conf")]
        with (
            answering(self._corpus.names(), dns_port),
            (state / "nginx.out").open("wb") as output,
            subprocess.Popen(command, stdout=output, stderr=output) as server,  # noqa: S603
        ):
            try:
                _await_file(state / "nginx.pid", server, state / "nginx.out")
                yield _NginxLog(state / "access.log")
            finally:
                server.terminate()
                server.wait()


class _NginxLog:
    def __init__(self, path: Path) -> None:
        self._path = path

    def pages(self) -> list[str]:
        if not self._path.exists():
            return []
        with self._path.open(encoding="utf-8") as lines:
            fields = [line.split() for line in lines]
        return [
            field[2]
            for field in fields
            if field[0] == "GET" and field[1] == "200" and field[-1] == "OK" and not field[2].endswith("/robots.txt")
        ]


class SimwebServer:
    """The corpus as a WARC file, served by `whimbrel simweb serve --warc`."""

    def __init__(self, corpus: Corpus, state: Path, reason: str) -> None:
        self.name = f"simweb ({reason})"
        self.ca = state / "ca.pem"
        self._warc = state / "corpus.warc"
        write_warc(corpus, self._warc)

    @contextmanager
    def serving(self, state: Path, dns_port: int) -> Iterator[CorpusLog]:
        log = state / "access.tsv"
        command = [sys.executable, "-m", "whimbrel", "simweb", "serve", "--warc", str(self._warc)]
        command += ["--state", str(state), "--log", str(log), "--dns-port", str(dns_port)]
        command += ["--http-port", str(HTTP_PORT), "--https-port", str(HTTPS_PORT)]
        with subprocess.Popen(command, stdout=subprocess.DEVNULL) as server:  # noqa: S603
            try:
                running = await_running(server, state)
                # A server of the simulated web makes its authority when it starts.
                shutil.copyfile(running.ca, self.ca)
                yield _SimwebLog(log)
            finally:
                server.terminate()
                server.wait()


class _SimwebLog:
    def __init__(self, path: Path) -> None:
        self._path = path

    def pages(self) -> list[str]:
        return [
            f"{exchange.scheme}://{exchange.host}{exchange.target}"
            for exchange in read_log(self._path)
            if exchange.method == "GET" and exchange.status == 200 and exchange.served == "page"
        ]


def find_server(corpus: Corpus, state: Path, *, is_private: bool) -> CorpusServer:
    """nginx listens on every interface, so it is for a private network; simweb binds to the loopback device."""
    program = find_nginx()
    if not is_private:
        return SimwebServer(corpus, state, "there is no private network for nginx")
    return SimwebServer(corpus, state, "nginx is not installed") if program is None else Nginx(program, corpus, state)


def find_nginx() -> str | None:
    return shutil.which("nginx") or shutil.which("nginx", path=_NGINX_PATH)


def _await_file(path: Path, server: subprocess.Popen[bytes], output: Path) -> None:
    deadline = time.monotonic() + _START_S
    while not path.exists():
        if server.poll() is not None or time.monotonic() > deadline:
            raise PeersError(f"nginx did not start: {output.read_text(encoding='utf-8', errors='replace')}")
        time.sleep(0.02)
