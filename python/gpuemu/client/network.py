"""Connects to a daemon on another machine, by TLS over TCP; its [daemon.listen] says what clients may request."""

from __future__ import annotations

import os
import pathlib
import socket as sockets
import ssl
import stat
from typing import Any, NamedTuple

from gpuemu import arguments
from gpuemu.client import shared
from gpuemu.client.client import Client
from gpuemu.client.connection import PROTOCOL_VERSION, Connection, encoded
from gpuemu.errors import ClientError, ConnectionError, ProtocolError, TimeoutError, UnauthorizedError

PORT_MAX = 65535
LENGTH_BYTES = 4
MESSAGE_BYTES_MAX = 1 << 30
# Files in the folder of the token, written by `gpuemu daemon certs FOLDER`.
AUTHORITY, CERTIFICATE, KEY = "ca.pem", "worker.pem", "worker.key"
HOW = "make them with `gpuemu daemon certs FOLDER` on the daemon's machine and copy ca.pem, worker.pem, worker.key and token of that folder into one here"


class NetworkAddress(NamedTuple):
    """The TCP address of a daemon, and the file with its token."""

    host: str
    port: int
    token_file: str

    def __str__(self) -> str:
        return f"tls+tcp://{self.host}:{self.port}"

    def client(self) -> Client:
        """Returns a client of that daemon. It connects at the first request."""
        made = Client(str(self), start=False, share=False)
        made.connection = NetworkConnection(self, made.timeout_ms)
        return made


def address(host: Any, port: Any, token_file: Any) -> NetworkAddress:
    """Checks the arguments of connect(). Raises ValueError for a wrong port and ConnectionError for a missing token."""
    host = "localhost" if host is None else host
    if not isinstance(host, str):
        raise TypeError(f"host is {host!r}, expected the name or address of the daemon's machine as text")
    if port is None:
        raise ValueError(f"port is missing: it is the number behind the colon in daemon.listen.address of {host}")
    port = arguments.whole(port, "port", 1, PORT_MAX)
    token_file = os.environ.get("GPUEMU_TOKEN_FILE") if token_file is None else os.fspath(token_file)
    if not token_file:
        raise ConnectionError(f"Cannot connect to a daemon at {host}:{port} over TCP without token_file (or GPUEMU_TOKEN_FILE), the token of its "
                              f"daemon.listen, beside which {AUTHORITY}, {CERTIFICATE} and {KEY} are: {HOW}")  # fmt: skip
    return NetworkAddress(host, port, os.fsdecode(token_file))


def _secret(file: pathlib.Path) -> pathlib.Path:
    """Returns the file after checking that only its owner may read it."""
    mode = stat.S_IMODE(file.stat().st_mode)
    if mode & 0o077:
        raise ConnectionError(f"others may use {file} (mode {mode:04o}); run `chmod go= {file}`")
    return file


class NetworkConnection(Connection):
    """One TLS connection, on which requests are answered one after the other."""

    def __init__(self, where: NetworkAddress, timeout_ms: int) -> None:
        super().__init__(str(where), timeout_ms, start=False, share=False)
        self.where = where
        self.token, self._broken, self._is_admitted = "", "", False

    def _context(self) -> ssl.SSLContext:
        """Returns the TLS context; also reads the token. Raises ConnectionError when a file cannot be used."""
        folder = pathlib.Path(self.where.token_file).parent
        file = pathlib.Path(self.where.token_file)
        try:
            self.token = _secret(file).read_text(encoding="utf-8").strip()
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
            context.minimum_version = ssl.TLSVersion.TLSv1_2
            file = folder / AUTHORITY
            context.load_verify_locations(file)
            file = folder / CERTIFICATE
            context.load_cert_chain(file, _secret(folder / KEY))
        except (OSError, UnicodeDecodeError) as problem:
            reason = getattr(problem, "strerror", None) or problem
            raise ConnectionError(f"Cannot connect to the daemon at {self.where}: {getattr(problem, 'filename', None) or file}: {reason}; {HOW}") from problem
        return context

    def open(self) -> Any:
        """Returns the connection, made at the first call."""
        with self._lock:
            if self._broken:
                raise ConnectionError(f"the connection to {self.where} is over: {self._broken}")
            if self._socket is None:
                self._socket = self._dialled()
            return self._socket

    def _dialled(self) -> ssl.SSLSocket:
        context, place = self._context(), f"{self.where.host}:{self.where.port}"
        try:
            plain = sockets.create_connection((self.where.host, self.where.port), self.timeout_ms / 1000)
        except (OSError, UnicodeError) as problem:
            raise ConnectionError(f"Cannot connect to the daemon at {self.where}: {getattr(problem, 'strerror', None) or problem}; a daemon listens there where "
                                  "its gpuemu.toml has [daemon.listen]") from problem  # fmt: skip
        try:
            plain.setsockopt(sockets.IPPROTO_TCP, sockets.TCP_NODELAY, 1)
            return context.wrap_socket(plain, server_hostname=self.where.host)
        except ssl.SSLCertVerificationError as problem:
            plain.close()
            raise ConnectionError(f"the certificate of {place} does not fit {AUTHORITY} beside {self.where.token_file}: {problem.verify_message}") from problem
        except OSError as problem:
            plain.close()
            raise ConnectionError(f"Cannot connect to the daemon at {self.where}: {problem}; does it speak TLS there (daemon.listen)?") from problem

    def ask(self, request: dict[str, Any], timeout_ms: int | None = None) -> dict[str, Any]:
        """Returns the reply unchanged, including Error replies. Thread-safe."""
        opened, timeout_ms = self.open(), self.timeout_ms if timeout_ms is None else timeout_ms
        request = self._addressed(request)
        if request["type"] == "OpenSession":
            return self._open_session(opened, request, timeout_ms)
        if not self._is_admitted:  # The daemon answers nothing before a session is opened with the token.
            first = self._open_session(opened, {"type": "OpenSession", "name": f"client-{os.getpid()}"}, timeout_ms)
            if first.get("type") != "SessionOpened":
                return first
            self._exchange(opened, {"type": "CloseSession", "session": first["session"]}, timeout_ms)
        reply = self._exchange(opened, request, timeout_ms)
        if request["type"] == "Ping":
            if reply.get("type") != "Pong" or reply.get("protocol_version") != PROTOCOL_VERSION:
                raise ProtocolError(f"Protocol version mismatch: client={PROTOCOL_VERSION}, daemon={reply.get('protocol_version', reply)}")
            self.capabilities = frozenset(reply.get("capabilities") or [])
        return reply

    def _open_session(self, opened: Any, request: dict[str, Any], timeout_ms: int) -> dict[str, Any]:
        reply = self._exchange(opened, {**request, "token": self.token}, timeout_ms)
        if reply.get("code") == UnauthorizedError.code:
            raise ConnectionError(f"{self.where.host}:{self.where.port} refused this client: wrong token (token_file {self.where.token_file})")
        self._is_admitted |= reply.get("type") == "SessionOpened"
        return reply

    def _exchange(self, socket: Any, request: dict[str, Any], timeout_ms: int, loan: shared.Loan | None = None) -> dict[str, Any]:
        message = encoded(request, loan)
        try:
            with self._lock:
                socket.settimeout(timeout_ms / 1000)
                socket.sendall(len(message).to_bytes(LENGTH_BYTES, "little") + message)
                length = int.from_bytes(_received(socket, LENGTH_BYTES), "little")
                if length > MESSAGE_BYTES_MAX:
                    raise OSError(f"the reply has {length} bytes, more than {MESSAGE_BYTES_MAX}")
                raw = _received(socket, length)
        except (OSError, ValueError) as problem:  # Otherwise later data would be taken for the answer to another request.
            self._broken = str(problem)
            self.close()
            raise self._lost(problem, request, timeout_ms) from problem
        return self._decoded(raw)

    def _lost(self, problem: Exception, request: dict[str, Any], timeout_ms: int) -> ClientError:
        if isinstance(problem, sockets.timeout):
            return TimeoutError(f"Request timed out: {request['type']} had no reply within {timeout_ms} ms (timeout_ms)")
        if isinstance(problem, ssl.SSLError) and "alert" in str(problem).lower():
            return ConnectionError(f"{self.where.host}:{self.where.port} refused the certificate {pathlib.Path(self.where.token_file).parent / CERTIFICATE}: {problem}")
        return ConnectionError(f"Request failed: {request['type']}: {problem or 'the connection was closed'}")

    async def ask_async(self, request: dict[str, Any], timeout_ms: int | None = None) -> dict[str, Any]:
        import asyncio

        return await asyncio.to_thread(self.ask, request, timeout_ms)


def _received(socket: Any, length: int) -> bytes:
    got = bytearray()
    while len(got) < length:
        part = socket.recv(min(length - len(got), 1 << 20))
        if not part:
            raise OSError("the daemon closed the connection")
        got += part
    return bytes(got)
