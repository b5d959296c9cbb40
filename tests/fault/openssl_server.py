"""A TLS server on the system's OpenSSL: it can say what Python's `ssl` cannot, such as KeyUpdate and HelloRequest."""

import ctypes
import ctypes.util
import os
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

_CTRL_SET_MAX_PROTO_VERSION = 124
TLS_1_2, TLS_1_3 = 0x0303, 0x0304
_PEM = 1


class Gone(OSError):
    """OpenSSL could not go on: the client has left."""


@lru_cache(maxsize=1)
def library() -> Any:
    """None when there is none."""
    name = ctypes.util.find_library("ssl")
    if name is None:
        return None
    found = ctypes.CDLL(name)
    for make in ("TLS_server_method", "SSL_CTX_new", "SSL_new", "BIO_s_mem", "BIO_new"):
        getattr(found, make).restype = ctypes.c_void_p
    return found


class Connection:
    """TLS at a socket, with blocking calls that do not hold Python's lock."""

    def __init__(self, handle: ctypes.c_void_p) -> None:
        self._handle = handle

    def call(self, name: str, *arguments: Any) -> int:
        """A function of OpenSSL that returns more than 0 when all is well."""
        found = int(getattr(library(), name)(self._handle, *arguments))
        if found <= 0:
            raise Gone(name)
        return found

    def read(self, most: int = 65_536) -> bytes:
        into = ctypes.create_string_buffer(most)
        length = self.call("SSL_read", into, most)
        return into.raw[:length]

    def write(self, data: bytes) -> None:
        self.call("SSL_write", data, len(data))

    def update_key(self) -> None:
        self.call("SSL_key_update", 0)
        self.call("SSL_do_handshake")

    def recorded(self, act: Callable[["Connection"], None], times: int) -> bytes:
        """What it would send. After this nothing is sent by itself any more."""
        ssl = library()
        memory = ctypes.c_void_p(ssl.BIO_new(ctypes.c_void_p(ssl.BIO_s_mem())))
        ssl.SSL_set0_wbio(self._handle, memory)
        for _ in range(times):
            act(self)
        into = ctypes.create_string_buffer(times * 100)
        length = ssl.BIO_read(memory, into, len(into))
        return into.raw[:length]

    def renegotiate(self) -> None:
        self.call("SSL_renegotiate")
        self.call("SSL_do_handshake")

    def send_ticket(self) -> None:
        self.call("SSL_new_session_ticket")
        self.call("SSL_do_handshake")


@contextmanager
def accepted(plain: socket.socket, pem: bytes, version: int = TLS_1_3) -> Iterator[Connection]:
    """A handshake with a client at a socket."""
    ssl = library()
    plain.settimeout(None)
    context = ctypes.c_void_p(ssl.SSL_CTX_new(ctypes.c_void_p(ssl.TLS_server_method())))
    descriptor = os.memfd_create("certificate")
    handle = None
    try:
        os.write(descriptor, pem)
        path = f"/proc/self/fd/{descriptor}".encode()
        ssl.SSL_CTX_use_certificate_chain_file(context, path)
        ssl.SSL_CTX_use_PrivateKey_file(context, path, _PEM)
        ssl.SSL_CTX_ctrl(context, _CTRL_SET_MAX_PROTO_VERSION, version, None)
        handle = ctypes.c_void_p(ssl.SSL_new(context))
        ssl.SSL_set_fd(handle, plain.fileno())
        connection = Connection(handle)
        connection.call("SSL_accept")
        yield connection
    finally:
        os.close(descriptor)
        if handle is not None:
            ssl.SSL_free(handle)
        ssl.SSL_CTX_free(context)
