"""The settings of the process: where new tensors are computed, the seed, the verbosity."""

from __future__ import annotations

import os
import secrets
import threading
from typing import Any

from gpuemu import arguments
import gpuemu.program.backends as backends
from gpuemu.client import network
from gpuemu.program.backends import BACKENDS
from gpuemu.program.errors import BackendError
from gpuemu.program.places import Place
from gpuemu.program.tape import LOCK, TAPE, Run
from gpuemu.program.workers import Connection, WorkerPlace

VERBOSITY_MAX = 3


class Session:
    """Settings of the process, all guarded by one lock."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.reset()

    def reset(self) -> None:
        """Restores the settings of a new process."""
        self.backend: tuple[str, Any, bool, str | None] = ("auto", 0, False, None)
        self.seed: int | None = None
        self.drawn = 0

    def place(self) -> Place:
        """Returns the place where new tensors are computed."""
        traced = TAPE.tracing.place
        if traced is not None:
            return traced
        with self.lock:
            return backends.place_of(*self.backend)

    def next_draw(self) -> tuple[int, int]:
        """Returns the seed, and the number of this random tensor."""
        with self.lock:
            if self.seed is None:
                self.seed = secrets.randbits(64)
            self.drawn += 1
            return self.seed, self.drawn - 1


SESSION = Session()


def _is_device(value: Any) -> bool:
    """True for a runtime.Device. Does not load the module to check a number."""
    if isinstance(value, int):
        return False
    from gpuemu import runtime

    return isinstance(value, runtime.Device)


def set_backend(backend: str = "auto", *, device: Any = 0, local: bool = False, arch: str | None = None) -> None:
    """Selects where new tensors are computed. "numpy": by references on the host. local: in this process, through gpuemu.runtime;
    otherwise by the daemon, so that a faulting kernel fails only its op and not the program. device: an index, or with local a
    runtime.Device."""
    if not isinstance(backend, str) or not (arch is None or isinstance(arch, str)):
        what, value = ("arch", arch) if isinstance(backend, str) else ("backend", backend)
        raise TypeError(f"{what} is of type {type(value).__name__}, expected a str")
    if not local or not _is_device(device):
        arguments.whole(device, "device", 0)
    if backend not in BACKENDS:
        raise ValueError(f"unknown backend '{backend}'; there are {', '.join(BACKENDS)}")
    with SESSION.lock:
        SESSION.backend = (backend, device, bool(local), arch)


def set_verbosity(level: int) -> None:
    """Sets the output on standard error: 0 nothing, 1 connections and fallbacks, 2 a line for each execution, 3 one for each
    op."""
    if isinstance(level, bool) or level not in range(VERBOSITY_MAX + 1):
        raise ValueError(f"the level is {level!r}, expected 0 to {VERBOSITY_MAX}")
    TAPE.verbosity = level


def manual_seed(seed: int) -> None:
    """Sets the seed of random tensors of this process; the next one is number 0."""
    with SESSION.lock:
        SESSION.seed, SESSION.drawn = arguments.seed(seed), 0


def flush() -> None:
    """Computes all pending ops that a live tensor needs."""
    TAPE.execute()


def reset() -> None:
    """Resets the seed, the backend and the plans, and ends the session with the daemon."""
    with LOCK, SESSION.lock:
        SESSION.reset()
        TAPE.clear()
        TAPE.verbosity = 0
        backends.close_remote()


def last_run() -> Run | None:
    """Returns the last execution: graph, lowered ops, plan, milliseconds."""
    return TAPE.last


def connect(address: Any = None, *, host: str | None = None, port: int | None = None, token_file: Any = None, start: bool | None = None) -> None:
    """Opens a session with the daemon now and not at the first op that must run. address: the path of its socket, by default that
    of gpuemu.Client; start: whether a daemon is started when none answers, by default only without an address. host, port: the
    address of a daemon on another machine (daemon.listen), for TLS; token_file: its token (by default $GPUEMU_TOKEN_FILE), in a
    folder with ca.pem, worker.pem and worker.key, as `gpuemu daemon certs` creates them. Raises gpuemu.ConnectionError."""
    if not (address is None or isinstance(address, (str, os.PathLike))):
        raise TypeError(f"connect: address is of type {type(address).__name__}, expected the path of a socket")
    where = None if address is None else os.fspath(address)
    if host is not None or port is not None:
        if address is not None:
            raise ValueError("connect: address is the path of a socket, host and port are of a daemon on TCP; give one of the two")
        if start:
            raise ValueError("connect: start=True starts a daemon of this machine; that at host and port is started there")
        where = network.address(host, port, token_file)
    elif token_file is not None:
        raise ValueError("connect: token_file is for host and port; for a daemon's socket set GPUEMU_TOKEN_FILE")
    if not isinstance(SESSION.place(), WorkerPlace):
        raise BackendError(f"connect: the backend {SESSION.place().name} runs in this process: call set_backend(..., local=False) first")
    with LOCK:
        backends.use_daemon(where, start)
        place = SESSION.place()
        assert isinstance(place, WorkerPlace)
        place.connect(start)


def disconnect() -> None:
    """Ends the session with the daemon, and workers, and frees their values. Reading one of their tensors that was not read
    before raises ReleasedError."""
    with LOCK:
        TAPE.clear()
        backends.close_remote()


def connection() -> Connection | None:
    """Returns the connection that runs the ops of the current backend (address, session, started); None before the first op and
    after disconnect()."""
    with SESSION.lock:
        backend, device, local, arch = SESSION.backend
    place = None if local or backend == "numpy" else backends.place_of(backend, device, local, arch)
    return place.connection() if isinstance(place, WorkerPlace) else None
