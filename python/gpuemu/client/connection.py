"""Finds and starts the daemon, and sends requests to it, one at a time or many at once."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import threading
from collections.abc import Iterator
from typing import Any

from gpuemu import arguments, installed
from gpuemu.errors import ClientError, ConnectionError, InvalidRequestError, NotFoundError, ProtocolError, TimeoutError, UnauthorizedError
from . import shared

PROTOCOL_VERSION = 1
TIMEOUT_MS_MAX = 2**31 - 1  # Largest timeout of NNG.


def default_socket() -> str:
    """Returns $GPUEMU_SOCKET, else ~/.gpuemu/gpuemu.sock."""
    return os.environ.get("GPUEMU_SOCKET") or os.path.expanduser("~/.gpuemu/gpuemu.sock")


def program() -> str:
    """Returns the path of the gpuemu command. Raises ConnectionError when it is not found."""
    found = installed.find_program()
    if not found:
        raise ConnectionError("no daemon answers and no `gpuemu` is in PATH to start one; set GPUEMU_CLI to the command")
    return found


def start_daemon(socket_path: str, timeout: float = 30.0) -> None:
    """Runs `gpuemu daemon start --background`. Afterwards a daemon runs, and its default project is that of the working
    directory."""
    try:
        done = subprocess.run(
            [program(), "daemon", "start", "--background"], env={**installed.environment(), "GPUEMU_SOCKET": socket_path},
            stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=timeout,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired) as problem:
        raise ConnectionError(f"the daemon could not be started: {problem}") from problem
    if done.returncode != 0:
        raise ConnectionError(f"the daemon could not be started: {(done.stderr or done.stdout).strip()}")


def _pynng() -> Any:
    try:
        import pynng
    except ImportError as problem:
        raise ImportError("gpuemu.Client needs the package pynng: pip install pynng") from problem
    global _nng_process
    if _nng_process is None:
        _nng_process = os.getpid()
    if _nng_process != os.getpid():
        raise ConnectionError(
            "this process is a fork of one that was connected, and NNG ends such a process: "
            "start it with multiprocessing's 'spawn' or 'forkserver', or make the first client after the fork"
        )
    return pynng


_nng_process: int | None = None  # The process that first used NNG. A fork of it lacks NNG's threads.


def encoded(request: dict[str, Any], loan: shared.Loan | None) -> bytes:
    """Returns the message. Raises InvalidRequestError for text that JSON cannot encode, such as a name decoded from bytes that
    are not UTF-8."""
    text = json.dumps(request, default=shared.writer(loan))
    if "\\ud" in text:
        try:
            json.dumps(json.loads(text), ensure_ascii=False).encode()
        except UnicodeEncodeError:
            raise InvalidRequestError(f"{request['type']} has a text with a lone surrogate, which is no Unicode") from None
    return text.encode()


class Connection:
    """A socket to the daemon, opened at the first request. Every request has its own NNG context, so threads and tasks do not
    wait for each other. `start`: starts a daemon when none answers; `share`: sends large arrays through shared memory where the
    daemon can read it."""

    def __init__(self, socket_path: str, timeout_ms: int, start: bool, share: bool = True) -> None:
        self.socket_path, self.timeout_ms, self.start = socket_path, arguments.whole(timeout_ms, "timeout_ms", 1, TIMEOUT_MS_MAX), start
        self.memory = shared.Pool()
        if not share:
            self.memory.close()
        self.capabilities: frozenset[str] = frozenset()
        self.project: str | None = None  # Named by requests; None for the daemon's default project.
        # The secret of the session that requests belong to; None for the session of this process.
        self.session: str | None = None
        self._socket: Any = None
        self._lock = threading.Lock()

    def _dial(self) -> Any:
        pynng = _pynng()
        url = f"ipc://{self.socket_path}"
        for attempt in range(2):
            socket = pynng.Req0(send_timeout=self.timeout_ms, recv_timeout=self.timeout_ms)
            try:
                socket.dial(url, block=True)
                return socket
            except UnicodeEncodeError as problem:
                socket.close()
                raise ConnectionError(f"Cannot connect to daemon at {self.socket_path!a}: no socket can have this name") from problem
            except pynng.exceptions.NNGException as problem:
                socket.close()
                if attempt == 0 and self.start:
                    start_daemon(self.socket_path)
                    continue
                there = "" if os.path.exists(self.socket_path) else ", where there is no socket"
                raise ConnectionError(
                    f"Cannot connect to daemon at {self.socket_path}{there} ({problem}). "
                    "Is the daemon running? Start it with: gpuemu daemon start"
                ) from problem

    def open(self) -> Any:
        """Returns the socket, dialled at the first call."""
        _pynng()
        with self._lock:
            if self._socket is None:
                self._socket = self._connect()
                if self.start and self._serves_another_project(self._socket):
                    self._socket.close()
                    self._socket = None
                    start_daemon(self.socket_path)
                    self._socket = self._connect()
                if self.start and "projects" in self.capabilities:
                    file = installed.project_file()
                    self.project = None if file is None else str(file)
            return self._socket

    def _connect(self) -> Any:
        socket = self._dial()
        try:
            self._greet(socket)
        except BaseException:
            socket.close()
            raise
        return socket

    def _serves_another_project(self, socket: Any) -> bool:
        wanted = installed.project_file()
        if wanted is None:
            return False
        status = self._exchange(socket, {"type": "DaemonStatus"}, self.timeout_ms)
        return status.get("type") == "DaemonStatus" and status.get("config_path") != str(wanted.resolve())

    def _addressed(self, request: dict[str, Any]) -> dict[str, Any]:
        named = {"project": self.project, "session": self.session}
        return {**{name: value for name, value in named.items() if value is not None}, **request}

    def _greet(self, socket: Any) -> None:
        """Sends a Ping and checks that both sides speak the same version."""
        pong = self._exchange(socket, {"type": "Ping"}, self.timeout_ms)
        theirs = pong.get("protocol_version", 0)
        if pong.get("type") != "Pong" or theirs != PROTOCOL_VERSION:
            old = "client" if isinstance(theirs, int) and theirs > PROTOCOL_VERSION else "daemon"
            raise ProtocolError(f"Protocol version mismatch: client={PROTOCOL_VERSION}, daemon={theirs}. Please upgrade the {old}.")
        self.capabilities = frozenset(pong.get("capabilities") or [])
        token_file = os.environ.get("GPUEMU_TOKEN_FILE")
        if token_file and self.session is None:
            self._open_with_token(socket, token_file)

    def _open_with_token(self, socket: Any, token_file: str) -> None:
        """Opens a session with the token. A daemon that several users share may answer only requests of such a session."""
        try:
            with open(token_file, encoding="utf-8") as file:
                token = file.read().strip()
        except (OSError, UnicodeDecodeError) as problem:
            raise ConnectionError(f"GPUEMU_TOKEN_FILE: {problem}") from problem
        request = {"type": "OpenSession", "name": f"python[{os.getpid()}]", "token": token}
        opened = self._exchange(socket, request, self.timeout_ms)
        if opened.get("type") != "SessionOpened":
            raise UnauthorizedError(str(opened.get("message")))
        self.session = opened["session"]

    def _exchange(self, socket: Any, request: dict[str, Any], timeout_ms: int, loan: shared.Loan | None = None) -> dict[str, Any]:
        pynng = _pynng()
        with socket.new_context() as context:
            context.send_timeout = context.recv_timeout = timeout_ms
            try:
                context.send(encoded(request, loan))
                return self._decoded(context.recv())
            except pynng.exceptions.NNGException as problem:
                raise self._lost(problem, request, timeout_ms) from problem

    @contextlib.contextmanager
    def _lent(self) -> Iterator[shared.Loan | None]:
        """Yields the shared memory for one request, None if the daemon does not support it."""
        if shared.CAPABILITY not in self.capabilities:
            yield None
            return
        loan, answered = shared.Loan(self.memory), False
        try:
            yield loan
            answered = True
        finally:
            loan.give_back(answered=answered)

    def _was_unreachable(self, loan: shared.Loan | None, reply: dict[str, Any]) -> bool:
        """True if the daemon could not reach the memory, because it is in another container, for example. Sharing is then not
        tried again."""
        if loan is None or loan.segment is None or reply.get("code") != NotFoundError.code:
            return False
        self.memory.close()
        return True

    def _lost(self, problem: Exception, request: dict[str, Any], timeout_ms: int) -> ClientError:
        if isinstance(problem, _pynng().exceptions.Timeout):
            return TimeoutError(f"Request timed out: {request['type']} had no reply within {timeout_ms} ms (timeout_ms)")
        return ConnectionError(f"Request failed: {request['type']}: {problem}")

    @staticmethod
    def _decoded(raw: bytes) -> dict[str, Any]:
        try:
            reply = json.loads(raw)
        except ValueError as problem:
            raise ProtocolError(f"the reply is not JSON: {problem}") from problem
        if not isinstance(reply, dict):
            raise ProtocolError("the reply is no JSON object")
        return reply

    def ask(self, request: dict[str, Any], timeout_ms: int | None = None) -> dict[str, Any]:
        """Returns the reply unchanged, including Error replies. Thread-safe."""
        socket, timeout_ms = self.open(), self.timeout_ms if timeout_ms is None else timeout_ms
        request = self._addressed(request)
        with self._lent() as loan:
            reply = self._exchange(socket, request, timeout_ms, loan)
            unreachable = self._was_unreachable(loan, reply)
        return self._exchange(socket, request, timeout_ms) if unreachable else reply

    async def _exchange_async(self, socket: Any, request: dict[str, Any], timeout_ms: int, loan: shared.Loan | None) -> dict[str, Any]:
        pynng = _pynng()
        with socket.new_context() as context:
            context.send_timeout = context.recv_timeout = timeout_ms
            try:
                await context.asend(encoded(request, loan))
                return self._decoded(await context.arecv())
            except pynng.exceptions.NNGException as problem:
                raise self._lost(problem, request, timeout_ms) from problem

    async def ask_async(self, request: dict[str, Any], timeout_ms: int | None = None) -> dict[str, Any]:
        """Like `ask`, for a task of asyncio (or trio)."""
        socket, timeout_ms = self.open(), self.timeout_ms if timeout_ms is None else timeout_ms
        request = self._addressed(request)
        with self._lent() as loan:
            reply = await self._exchange_async(socket, request, timeout_ms, loan)
            unreachable = self._was_unreachable(loan, reply)
        return await self._exchange_async(socket, request, timeout_ms, None) if unreachable else reply

    def close(self) -> None:
        """Closes the socket. May be called again; the next request opens a new socket."""
        with self._lock:
            socket, self._socket = self._socket, None
        self.memory.empty()
        if socket is not None:
            socket.close()
