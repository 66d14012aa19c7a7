"""Runs lazy tensors in a worker process, so that a faulting kernel fails only its op and not the program."""

from __future__ import annotations

import itertools
import os
import pathlib
import pickle
import secrets
import subprocess
import sys
import threading
import weakref
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import gpuemu
import gpuemu.errors
import gpuemu.runtime.errors as errors
import gpuemu.runtime.registrations as registrations
from gpuemu.program.places import Place
from gpuemu.program.plan import BindingPlan
from gpuemu.program.tape import TAPE
from gpuemu.program.values import GraphData
from gpuemu.runtime.issuers import told
from gpuemu.tensors import Array

MAIN = "gpuemu.program.worker_main"


class Connection(NamedTuple):
    """The connection that runs the ops. address: the socket of the daemon, or the worker's process; session: its name; started:
    True if this process started it."""

    address: str
    session: str
    started: bool


class Held:
    """A value of a worker. `array`: its content if this process has it; `session`: the session of the worker that has it, else "";
    `tape`: the number of the session of a daemon that has it, else empty."""

    def __init__(self, number: int, dtype: str, array: Array | None, session: str, tape: list[int] | None = None) -> None:
        self.number, self.dtype, self.array, self.session = number, dtype, array, session
        self.tape: list[int] = [] if tape is None else tape


class Program:
    """A bound program. `sent`: the session that it was sent to, else ""."""

    def __init__(self, number: int) -> None:
        self.number, self.sent = number, ""
        self.constants: dict[int, Held] = {}  # Used if a daemon runs the program.


class WorkerPlace(Place):
    """A worker, started when the first op must run and again after it ended. Values that only an ended worker had are lost."""

    def __init__(self, backend: str, index: int, arch: str | None) -> None:
        self.name = f"worker:{backend}:{index}"
        self._how = [backend, str(index), arch or ""]
        self._lock = threading.RLock()
        self._numbers = itertools.count()
        self._process: subprocess.Popen[bytes] | None = None
        self._owner = os.getpid()
        self._session = ""
        self._registered: set[int] = set()
        self._freed: list[tuple[str, int]] = []  # Filled by destructors, sent with the next request.
        self._is_closed = False
        self._local: Place | None = None

    @property
    def is_closed(self) -> bool:  # type: ignore[override]
        """True after close()."""
        return self._is_closed

    def local(self) -> Place:
        """The same device in this process, opened once."""
        from gpuemu.program.local import LocalPlace

        with self._lock:
            if self._local is None or self._local.is_closed:
                self._local = LocalPlace(self._how[0], int(self._how[1]), self._how[2] or None)
            return self._local

    def connection(self) -> Connection | None:
        """The worker; None if none is running."""
        with self._lock:
            return None if self._process is None else Connection(f"process {self._process.pid}", self._session, True)

    # --- values

    def put(self, array: Array, dtype: str) -> Held:
        return self._held(Held(next(self._numbers), dtype, array, ""))

    def get(self, held: Held) -> Array:
        with self._lock:
            if held.array is None:
                self._insist_there(held)
                held.array = self._ask("get", held.number)
            return held.array.copy()

    def _held(self, made: Held) -> Held:
        weakref.finalize(made, self._freed.append, ("value", made.number)).atexit = False
        return made

    def _insist_there(self, held: Held) -> None:
        if self._is_closed or not held.session or held.session != self._session:
            why = "disconnect() ended its worker" if self._is_closed else "its worker ended"
            raise errors.ReleasedError(f"the tensor was not read before {why}: compute it again")

    # --- programs

    def prepare(self, graph: GraphData, lowered: list[dict[str, Any]], plan: BindingPlan) -> Program:
        made = Program(next(self._numbers))
        weakref.finalize(made, self._freed.append, ("program", made.number)).atexit = False
        return made

    def run(self, program: Program, graph: GraphData, lowered: list[dict[str, Any]], plan: BindingPlan, sources: Mapping[int, Held],
            each: Callable[[int], None] | None) -> Mapping[int, Held]:  # fmt: skip
        with self._lock:
            self._start()
            puts = {}
            for held in sources.values():
                if held.session != self._session:
                    if held.array is None:
                        self._insist_there(held)
                    puts[held.number] = (held.array, held.dtype)
            content = None if program.sent == self._session else (graph, lowered, plan)
            made = {vid: Held(next(self._numbers), plan.specs[vid].dtype, None, self._session) for vid in graph.outputs.values()}
            for index in range(len(lowered) if each is not None else 0):
                each(index)  # type: ignore[misc]
            session = self._session
            try:
                self._ask("run", program.number, content, {vid: one.number for vid, one in sources.items()}, puts,
                          {vid: one.number for vid, one in made.items()}, registrations.news(self._registered))  # fmt: skip
            except gpuemu.KernelError as problem:
                at = problem.op_index
                raise problem if at is None else told(problem, lowered[at], at, graph.nodes[lowered[at]["node"]].where) from None
            program.sent = session
            for held in sources.values():
                held.session = session
            return {vid: self._held(one) for vid, one in made.items()}

    # --- the process

    def connect(self, start: bool | None = None) -> None:
        """Starts the worker if none is running. Raises gpuemu.ConnectionError (with start=False, if none is running), and the
        errors of opening the device."""
        with self._lock:
            if start is False and self._process is None:
                raise gpuemu.ConnectionError("connect: no worker is running, and start is False")
            self._start()

    def _start(self) -> None:
        if self._owner != os.getpid():
            raise errors.ForkedError("this process was forked from one that had a worker: call gpuemu.program.reset() first")
        if self._is_closed:
            raise errors.ReleasedError("disconnect() ended the session: make the tensors again")
        if self._process is not None:
            return
        root = str(pathlib.Path(gpuemu.__file__).parent.parent)
        paths = os.pathsep.join([root, *filter(None, [os.environ.get("PYTHONPATH")])])
        self._process = subprocess.Popen([sys.executable, "-m", MAIN, *self._how], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                         env={**os.environ, "PYTHONPATH": paths})  # fmt: skip
        self._session, self._registered = secrets.token_hex(8), set()
        try:
            self._answer()
        except Exception:
            self._end()
            raise
        self._tell(f"process {self._process.pid} is the worker of {self.name}")

    def _tell(self, what: str) -> None:
        """Prints to standard error, from verbosity 1 on."""
        if TAPE.verbosity >= 1:
            print(f"program: {what}", file=sys.stderr)

    def _ask(self, *asked: Any) -> Any:
        freed, self._freed[:] = list(self._freed), []
        process = self._process
        assert process is not None and process.stdin is not None
        try:
            pickle.dump((freed, *asked), process.stdin)
            process.stdin.flush()
        except BrokenPipeError:
            pass  # Reading the answer reports why it ended.
        return self._answer()

    def _answer(self) -> Any:
        process = self._process
        assert process is not None and process.stdout is not None
        try:
            kind, told = pickle.load(process.stdout)
        except (EOFError, pickle.UnpicklingError):
            self._end()
            self._tell(f"process {process.pid}, the worker of {self.name}, ended")
            raise gpuemu.ConnectionError(f"the worker of {self.name} ended with code {process.wait()}; the next use starts another one") from None
        if kind == "made":
            return told
        if isinstance(told, gpuemu.errors.DeviceLostError):
            self._end()  # The next worker opens the device again.
        raise told

    def _end(self) -> None:
        process, self._process, self._session = self._process, None, ""
        if process is not None and process.stdin is not None and process.stdout is not None:
            try:
                process.stdin.close()
            except BrokenPipeError:
                pass
            process.stdout.close()

    def close(self) -> None:
        """Ends the worker. Values that only it had are lost."""
        with self._lock:
            self._is_closed = True
            if self._owner == os.getpid():
                self._end()
