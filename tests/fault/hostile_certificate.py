"""Certificates that are good, and certificates that are wrong in one respect each, for loopback addresses."""

import os
import ssl
import subprocess
import tempfile
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from ipaddress import IPv4Address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

Key = ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey
NOW = datetime.now(UTC)
DAY = timedelta(days=1)
HTTP2, HTTP1 = ("h2", "http/1.1"), ("http/1.1",)


class Signer:
    """A name, and the key that signs in it."""

    def __init__(self, name: str) -> None:
        self.name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        self.key: Key = ec.generate_private_key(ec.SECP256R1())

    def certificate(self, by: "Signer", extension: x509.ExtensionType | None = None) -> bytes:
        """Of a certificate authority, as PEM."""
        constraint = x509.BasicConstraints(ca=True, path_length=None)
        made = draft(self.name, by.name, self.key).add_extension(constraint, critical=True)
        if extension is not None:
            made = made.add_extension(extension, critical=False)
        return made.sign(by.key, SHA256()).public_bytes(Encoding.PEM)


ROOT, STRANGER, MIDDLE = Signer("the root"), Signer("nobody knows it"), Signer("in the middle")


def draft(
    subject: x509.Name, issuer: x509.Name, key: Key, begin: datetime = NOW - DAY, end: datetime = NOW + DAY
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(begin)
        .not_valid_after(end)
    )


def leaf(
    address: str,
    by: Signer = ROOT,
    *,
    begin: datetime = NOW - 30 * DAY,
    end: datetime = NOW + 30 * DAY,
    key: Key | None = None,
    name: x509.Name | None = None,
    named: bool = True,
) -> bytes:
    """A certificate and its key, as PEM. `named`: it says whose it is where that is looked for."""
    key = key or ec.generate_private_key(ec.SECP256R1())
    name = name or x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, address)])
    made = draft(name, by.name, key, begin, end)
    if named:
        made = made.add_extension(x509.SubjectAlternativeName([x509.IPAddress(IPv4Address(address))]), critical=False)
    return _pem_of(key) + made.sign(by.key, SHA256()).public_bytes(Encoding.PEM)


def _pem_of(key: Key) -> bytes:
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


def sha1_signed(address: str) -> bytes:
    """Signed as nobody should any more. `cryptography` refuses to, `openssl` does not."""
    key = ec.generate_private_key(ec.SECP256R1())
    request = x509.CertificateSigningRequestBuilder().subject_name(STRANGER.name)
    names = x509.SubjectAlternativeName([x509.IPAddress(IPv4Address(address))])
    signed = request.add_extension(names, critical=False).sign(key, SHA256())
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        (directory / "key.pem").write_bytes(_pem_of(ROOT.key))
        (directory / "request.pem").write_bytes(signed.public_bytes(Encoding.PEM))
        write_root(directory)
        command = "openssl x509 -req -in request.pem -CA root.pem -CAkey key.pem -sha1 -copy_extensions copyall -days 9"
        done = subprocess.run(command.split(), cwd=directory, capture_output=True, check=True)
    return _pem_of(key) + done.stdout


def self_signed(address: str) -> bytes:
    own = Signer(address)
    return leaf(address, own, key=own.key, name=own.name)


def context(pem: bytes, alpn: Iterable[str] = HTTP1) -> ssl.SSLContext:
    """A server's, that is content with weak keys and old protocols."""
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    made.set_ciphers("ALL:@SECLEVEL=0")
    made.set_alpn_protocols(list(alpn))
    with os.fdopen(os.memfd_create("certificate"), "wb") as file:
        file.write(pem)
        file.flush()
        made.load_cert_chain(f"/proc/self/fd/{file.fileno()}")
    return made


@lru_cache(maxsize=256)
def good_context(address: str, alpn: tuple[str, ...] = HTTP1) -> ssl.SSLContext:
    return context(leaf(address), alpn)


def write_root(directory: Path) -> Path:
    """What a client is to trust."""
    path = directory / "root.pem"
    path.write_bytes(ROOT.certificate(ROOT))
    return path
