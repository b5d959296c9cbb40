"""Certificates of the simulated web, made when somebody asks for them.

An *authority* is made anew with every server and lives in its memory; only its certificate is written, to `ca.pem`, for
clients to trust. It has one leaf key, with which every host proves itself.

A server context looks at the name a client asks for (SNI) and changes to the context that holds a certificate for it.
Ordinary hosts share a certificate by blocks of numbers, so that the web's hosts cost few signatures; exhibits have
one each, and so have hosts whose trouble is in the certificate. Contexts are the only state: the last few hundred that
were used are kept, and what was forgotten is made again.
"""

import os
import ssl
from collections.abc import Callable
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from whimbrel.simweb.host import EXHIBIT_NUMBERS, SimHost, SimHosts

BLOCK: Final = 64
"""Ordinary hosts that share a certificate."""
MAX_CONTEXTS: Final = 512
ALPN: Final = ["h2", "http/1.1"]
WRONG_NAME: Final = "wrong.example"

_BEGIN: Final = datetime(2025, 1, 1, tzinfo=UTC)
_END: Final = datetime(2100, 1, 1, tzinfo=UTC)
_EXPIRED: Final = datetime(2025, 12, 1, tzinfo=UTC)
_CA_NAME: Final = "Simulated web authority"
_LEAF_NAME: Final = "Simulated web host"
_OWN: Final = ("tls-expired", "tls-wrong-name", "tls-self-signed")
"""Troubles that are in the certificate."""

SniCallback = Callable[[ssl.SSLObject, str | None, ssl.SSLContext], int | None]


class Authority:
    """A certificate authority of this process. `path` is its certificate, the only thing it writes."""

    def __init__(self, directory: Path) -> None:
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._leaf_key = ec.generate_private_key(ec.SECP256R1())
        self.path = directory / "ca.pem"
        self.path.write_bytes(self._root().public_bytes(Encoding.PEM))

    def issue(self, names: tuple[str, ...], *, end: datetime = _END) -> bytes:
        """A certificate for those names and the key to it, as PEM."""
        return self._leaf_pem(names, _CA_NAME, self._key, end)

    def self_signed(self, names: tuple[str, ...]) -> bytes:
        """As `issue`, but vouched for by nobody else."""
        return self._leaf_pem(names, _LEAF_NAME, self._leaf_key, _END)

    def _root(self) -> x509.Certificate:
        public = self._key.public_key()
        return (
            _draft(_CA_NAME, _CA_NAME, public, _END)
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .add_extension(_usage(signs_certificates=True), critical=True)
            .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(public), critical=False)
            .sign(self._key, SHA256())
        )

    def _leaf_pem(
        self, names: tuple[str, ...], issuer: str, signer: ec.EllipticCurvePrivateKey, end: datetime
    ) -> bytes:
        alternatives = x509.SubjectAlternativeName([x509.DNSName(name) for name in names])
        certificate = (
            _draft(_LEAF_NAME, issuer, self._leaf_key.public_key(), end)
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(_usage(signs_certificates=False), critical=True)
            .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
            .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(signer.public_key()), critical=False)
            .add_extension(alternatives, critical=False)
            .sign(signer, SHA256())
        )
        key = self._leaf_key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        return certificate.public_bytes(Encoding.PEM) + key


def server_context(authority: Authority, hosts: SimHosts) -> ssl.SSLContext:
    """A context for a listener: it serves `localhost`, and every host of the web to clients that name it."""
    context = _context(authority.issue(("localhost",)))
    context.sslobject_class = _Alerting
    context.sni_callback = _switching(_Contexts(authority, hosts), hosts)
    return context


class _Alerting(ssl.SSLObject):
    """A connection whose failed handshake is told to the client.

    asyncio and uvloop drop the connection when a handshake fails, and with it the alert that OpenSSL has just written.
    Asking once to be read again makes them send it; the client closes then, or the next try fails for good.
    """

    _has_failed = False

    def do_handshake(self) -> None:
        try:
            super().do_handshake()
        except (ssl.SSLWantReadError, ssl.SSLWantWriteError):
            raise
        except ssl.SSLError as error:
            if self._has_failed:
                raise
            self._has_failed = True
            raise ssl.SSLWantReadError("the alert is to be sent") from error


class _Contexts:
    """The contexts of hosts, by what their certificate is about. Keeps the last `MAX_CONTEXTS` used."""

    def __init__(self, authority: Authority, hosts: SimHosts) -> None:
        self._authority = authority
        self._hosts = hosts
        self._get = lru_cache(maxsize=MAX_CONTEXTS)(self._make)

    def of(self, host: SimHost) -> ssl.SSLContext:
        if host.trouble in _OWN:
            return self._get(host.trouble, host.number, 1)
        if host.number >= EXHIBIT_NUMBERS:
            return self._get("", host.number, 1)
        first = host.number - host.number % BLOCK
        return self._get("", first, min(BLOCK, self._hosts.spec.hosts - first))

    def _make(self, trouble: str, first: int, count: int) -> ssl.SSLContext:
        names = tuple(self._hosts.name(number) for number in range(first, first + count))
        match trouble:
            case "tls-expired":
                pem = self._authority.issue(names, end=_EXPIRED)
            case "tls-wrong-name":
                pem = self._authority.issue((WRONG_NAME,))
            case "tls-self-signed":
                pem = self._authority.self_signed(names)
            case _:
                pem = self._authority.issue(names)
        return _context(pem)


def _switching(contexts: _Contexts, hosts: SimHosts) -> SniCallback:
    def switch(connection: ssl.SSLObject, name: str | None, _: ssl.SSLContext) -> int | None:
        """Returns an alert, or None to go on. A name that is not of this web keeps the default certificate."""
        host = None if name is None else hosts.find(name.lower())
        if host is None:
            return None
        if host.trouble == "tls-refused":
            return ssl.ALERT_DESCRIPTION_HANDSHAKE_FAILURE
        connection.context = contexts.of(host)
        return None

    return switch


def _context(pem: bytes) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    # Each context needs it: OpenSSL chooses the protocol after the change of contexts.
    context.set_alpn_protocols(ALPN)
    # Python reads keys from files only. This one is in memory, has no name, and is gone when it is closed.
    with os.fdopen(os.memfd_create("certificate", os.MFD_CLOEXEC), "wb") as file:
        file.write(pem)
        file.flush()
        context.load_cert_chain(f"/proc/self/fd/{file.fileno()}")
    return context


def _draft(subject: str, issuer: str, public: ec.EllipticCurvePublicKey, end: datetime) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(_name(subject))
        .issuer_name(_name(issuer))
        .public_key(public)
        .serial_number(x509.random_serial_number())
        .not_valid_before(_BEGIN)
        .not_valid_after(end)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(public), critical=False)
    )


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def _usage(*, signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not signs_certificates,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        encipher_only=False,
        decipher_only=False,
    )
