"""Runs lazy tensors in the daemon, as entries of the tape of a separate session. Programs that the daemon's tapes cannot express,
such as those with kernels or ops that this process registered, run in a worker process."""

from __future__ import annotations

import atexit
import base64
import itertools
import math
import os
import re
import threading
import weakref
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import gpuemu
import gpuemu.errors
import gpuemu.runtime.errors as errors
import gpuemu.runtime.registrations as registrations
from gpuemu.client.connection import default_socket
from gpuemu.client.network import NetworkAddress, NetworkConnection
from gpuemu.errors import DeviceError
from gpuemu.program.errors import BackendError
from gpuemu.program.plan import BindingPlan
from gpuemu.program.values import GraphData
from gpuemu.program.workers import Connection, Held, Program, WorkerPlace
from gpuemu.runtime.issuers import told
from gpuemu.tensors import Array

LEASE_MS = 24 * 60 * 60 * 1000  # A program may do other work for this long.
WAIT_MS = 10_000
NETWORK_WAIT_MS = 1_000  # Short, because the daemon notices a closed connection of such a client only after it has answered.
# A request has at most 10,000 entries. Each result of an op may need one to compute and one to drop it; the other half is for
# leaves, copies and earlier drops.
RESULTS_MAX = 2_500
# Maps the daemon's errors of ops to the errors that op_call raises.
KINDS: dict[type[Exception], type[DeviceError]] = {
    gpuemu.errors.InvalidRequestError: errors.InvalidArgumentError, gpuemu.errors.LimitExceededError: errors.OutOfMemoryError,
    gpuemu.errors.NotFoundError: errors.NotFoundError,
}  # fmt: skip
# Settings that the daemon names when it limits device time; the error then does not mean too little memory.
TIME_LIMITS = ("time_limit_s", "device_seconds_per_day")


class Link:
    """A session of a daemon. Raises gpuemu.ConnectionError, and ImportError without the package pynng."""

    def __init__(self, address: str | NetworkAddress | None, start: bool | None) -> None:
        self.is_over = False
        if isinstance(address, NetworkAddress):
            self.wait_ms = NETWORK_WAIT_MS
            self._use(address.client(), False)
            return
        self.wait_ms = WAIT_MS
        starts = address is None if start is None else start
        probe = gpuemu.Client(address, start=False)
        try:
            probe.ping()
            started = False
        except gpuemu.ConnectionError:
            if not starts:
                raise
            started = True
        finally:
            probe.close()
        self._use(gpuemu.Client(address, start=starts), started)

    def _use(self, client: gpuemu.Client, started: bool) -> None:
        self.client = client
        try:
            self._open(started)
        except BaseException:
            self.client.close()
            raise

    def _open(self, started: bool) -> None:
        socket = self.client.connection.open()
        if not isinstance(self.client.connection, NetworkConnection):  # A network connection notices a lost daemon without this.
            socket.add_post_pipe_remove_cb(self._lost)
        self.pong = self.client.ping()
        opened = self.client.open_session(f"program-{os.getpid()}", lease_ms=LEASE_MS)
        self.connection = Connection(self.client.socket_path, opened["name"], started)

    def _lost(self, _: Any) -> None:
        """Wakes the waiters after the daemon has gone. Runs outside of NNG's own thread, which may not close a socket."""
        if not self.is_over:
            self.is_over = True
            threading.Thread(target=self.client.close, daemon=True).start()

    def why_not(self, backend: str, index: int, arch: str) -> str:
        """Returns why the daemon's devices are not the requested ones; "" if they are."""
        devices = self.pong.get("devices") or []
        if "tapes" not in self.client.connection.capabilities:
            return "it is of an older version, without tapes"
        if backend not in ("auto", self.pong.get("backend")):
            return f"its devices are of the backend {self.pong.get('backend')}, not {backend}"
        if index >= max(len(devices), 1):
            return f"it has {len(devices)} devices, none of number {index}"
        if arch and arch not in {one.get("architecture") for one in devices}:
            return f"its devices are {', '.join(sorted({str(one.get('architecture')) for one in devices}))}, not {arch}"
        return ""

    def close(self) -> None:
        """Ends the session, which frees its values."""
        if not self.is_over:
            try:
                self.client.close_session()
            except (gpuemu.ClientError, OSError):
                pass  # The daemon or the session has already ended.
        self.is_over = True
        self.client.close()
        atexit.unregister(self.close)


class DaemonPlace(WorkerPlace):
    """A daemon, connected when the first op must run. address, start: like those of gpuemu.Client, or the TCP address of a
    daemon."""

    def __init__(self, backend: str, index: int, arch: str | None, address: str | NetworkAddress | None = None,
                 start: bool | None = None) -> None:  # fmt: skip
        super().__init__(backend, index, arch)
        self.name = f"daemon:{backend}:{index}"
        self._address, self._starts = address, start
        self._link: Link | None = None
        self._refused = ""  # Why the daemon is not used.
        self._session_number = 0
        self._dropped: list[tuple[int, int]] = []  # Session and number of dropped values; filled by destructors.
        self._failed = 0

    def connection(self) -> Connection | None:
        """Returns the daemon's session, or the worker process if there is no daemon; None if nothing runs."""
        with self._lock:
            if self._link is not None:
                return None if self._link.is_over else self._link.connection
            return super().connection()

    def connect(self, start: bool | None = None) -> None:
        """Connects if there is no connection, including after a daemon has ended. Raises gpuemu.ConnectionError."""
        with self._lock:
            self._starts = start
            if self._link is not None and self._link.is_over:
                self._lost()
            if self._connected() is None:
                super().connect(start)

    def _connected(self) -> Link | None:
        """Returns the session of the daemon; None if a worker must be used. Raises gpuemu.ConnectionError once for a daemon that
        has ended."""
        if self._owner != os.getpid() or self._is_closed:
            self._start()  # Reports which of the two it is.
        if self._refused:
            return None
        if self._link is not None and self._link.is_over:
            raise self._lost()
        if self._link is None:
            try:
                link = Link(self._address, self._starts)
            except ImportError as problem:
                self._refuse(str(problem))
                return None
            if why := link.why_not(self._how[0], int(self._how[1]), self._how[2]):
                link.close()
                if self._address is not None:
                    raise BackendError(f"the daemon at {self._address} cannot run these tensors: {why}; call set_backend for what it has")
                self._refuse(why)
                return None
            self._link, self._failed = link, 0
            atexit.register(link.close)  # Runs before NNG and the interpreter shut down.
            self._session_number += 1
            self._tell(f"connected to the daemon at {link.connection.address}, session {link.connection.session}")
        return self._link

    def _refuse(self, why: str) -> None:
        self._refused = why
        self._tell(f"no daemon is used for {self.name}: {why}; a worker process is")

    def _lost(self, why: str = "") -> gpuemu.ConnectionError:
        """Returns the error for a daemon that has ended. The next use, or connect(), opens a new session."""
        link, self._link = self._link, None
        if link is not None:
            link.close()
        address = self._address or default_socket()
        self._tell(f"the daemon at {address} ended")
        return gpuemu.ConnectionError(f"the daemon at {address} ended{f' ({why})' if why else ''}; connect() begins a new session")

    def close(self) -> None:
        """Ends the session and the worker. Values that only they had are lost."""
        with self._lock:
            link, self._link = self._link, None
            if link is not None and self._owner == os.getpid():
                link.close()
            super().close()

    # --- values

    def _held(self, made: Held) -> Held:
        weakref.finalize(made, _drop, made.number, made.tape, self._dropped).atexit = False
        return super()._held(made)

    def get(self, held: Held) -> Array:
        with self._lock:
            if held.array is None and held.tape:
                self._insist_on_tape(held)
                held.array = self._asked(lambda client: client.fetch_tensor(_id(held.number)))
            return super().get(held)

    def _insist_on_tape(self, held: Held) -> None:
        if self._is_closed or self._link is None or held.tape != [self._session_number]:
            why = "disconnect() ended its session" if self._is_closed else "its daemon ended"
            raise errors.ReleasedError(f"the tensor was not read before {why}: compute it again")

    def _asked(self, ask: Callable[[gpuemu.Client], Any]) -> Any:
        link = self._link
        assert link is not None
        try:
            return ask(link.client)
        except Exception as problem:  # If the daemon is gone, this may be any error of pynng.
            if link.is_over or isinstance(problem, (gpuemu.ConnectionError, gpuemu.errors.SessionNotFoundError)):
                raise self._lost(str(problem)) from None
            raise

    # --- programs

    def prepare(self, graph: GraphData, lowered: list[dict[str, Any]], plan: BindingPlan) -> Program:
        made = super().prepare(graph, lowered, plan)
        made.constants = {vid: self._held(Held(next(self._numbers), plan.specs[vid].dtype, array, ""))
                          for vid, array in {**graph.constants, **graph.lowered_constants}.items()}  # fmt: skip
        return made

    def run(self, program: Program, graph: GraphData, lowered: list[dict[str, Any]], plan: BindingPlan, sources: Mapping[int, Held],
            each: Callable[[int], None] | None) -> Mapping[int, Held]:  # fmt: skip
        with self._lock:
            link = self._connected()
            if link is not None:
                why = _why_no_tape(lowered, plan)
                if not why:
                    return self._run_tape(program, graph, lowered, plan, sources, each)
                self._tell(f"{why}: a worker process runs {len(lowered)} ops")
            for held in sources.values():
                if held.array is None and not held.session:
                    self.get(held)  # Only the tape has its value.
            return super().run(program, graph, lowered, plan, sources, each)

    def _run_tape(self, program: Program, graph: GraphData, lowered: list[dict[str, Any]], plan: BindingPlan, sources: Mapping[int, Held],
                  each: Callable[[int], None] | None) -> Mapping[int, Held]:  # fmt: skip
        writer = Writer(self._numbers, plan)
        dropped, self._dropped[:] = list(self._dropped), []
        writer.drop({number for session, number in dropped if session == self._session_number})
        if self._process is None:
            self._freed.clear()  # No worker has these values.
        try:
            for vid, held in {**program.constants, **sources}.items():
                self._write_source(writer, vid, held)
            wanted = _wanted(graph, lowered, plan)
            for index, one in enumerate(lowered):
                if each is not None:
                    each(index)
                writer.op(index, one, wanted)
            made = {vid: Held(writer.output(vid), plan.specs[vid].dtype, None, "") for vid in graph.outputs.values()}
            writer.drop(writer.temporary - {one.number for one in made.values()})
            self._submit(writer, graph, lowered)
        except Exception:
            self._dropped += dropped  # Drop them next time: the daemon accepts all entries or none.
            raise
        for held in (*writer.leaves, *made.values()):
            held.tape[:] = [self._session_number]
        held_now = {vid: self._held(one) for vid, one in made.items()}
        self._wait(writer, graph, lowered, list(made.values()))
        return held_now

    def _write_source(self, writer: Writer, vid: int, held: Held) -> None:
        if held.tape != [self._session_number]:
            if held.array is None and held.session:
                super().get(held)
            if held.array is None:
                self._insist_on_tape(held)
            assert held.array is not None
            writer.leaf(held)
        writer.now[writer.plan.storage(vid)] = held.number, writer.plan.specs[vid].shape

    def _submit(self, writer: Writer, graph: GraphData, lowered: list[dict[str, Any]]) -> None:
        try:
            self._asked(lambda client: client.submit_tape(writer.entries))
        except (gpuemu.errors.InvalidRequestError, gpuemu.errors.LimitExceededError) as problem:
            found = re.search(r"entry (\d+) of the tape[^:]*: ", str(problem))
            at = writer.of_entry.get(int(found[1])) if found else None
            raise _as_device_error(problem, str(problem)[found.end() :] if found else str(problem), at, graph, lowered) from None

    def _wait(self, writer: Writer, graph: GraphData, lowered: list[dict[str, Any]], made: list[Held]) -> None:
        """Waits until everything is computed. Raises the error of the first op that failed."""
        link_wait = self._link.wait_ms if self._link is not None else WAIT_MS
        while True:
            status = self._asked(lambda client: client.tape_status(link_wait))
            if status["done"] == status["total"]:
                break
        failed, self._failed = status["failed"] - self._failed, status["failed"]
        for one in made if failed else []:
            try:
                one.array = self._asked(lambda client: client.fetch_tensor(_id(one.number)))
            except gpuemu.ClientError as problem:
                if isinstance(problem, gpuemu.ConnectionError):
                    raise
                found = re.match(r"v(\d+) = \w+: ", str(problem))
                at = writer.of_number.get(int(found[1])) if found else None
                raise _as_device_error(problem, str(problem)[found.end() :] if found else str(problem), at, graph, lowered) from None


class Writer:
    """Writes the entries of one run. `now`: maps the root of a value to the number of its tensor and its current shape."""

    def __init__(self, numbers: Iterator[int], plan: BindingPlan) -> None:
        self.entries: list[dict[str, Any]] = []
        self.of_entry: dict[int, int] = {}  # Index of an entry to the index of its lowered op.
        self.of_number: dict[int, int] = {}
        self.now: dict[int, tuple[int, tuple[int, ...]]] = {}
        self.temporary: set[int] = set()
        self.leaves: list[Held] = []
        self.numbers, self.plan, self._outputs = numbers, plan, set[int]()

    def drop(self, numbers: Any) -> None:
        """Adds drop entries for values that are no longer used."""
        self.entries += [{"op": "drop", "inputs": [_id(number)]} for number in sorted(numbers)]

    def leaf(self, held: Held) -> None:
        """Writes host data as an entry."""
        array = held.array
        if held in self.leaves:
            return  # Two inputs of the graph are the same value.
        assert array is not None
        self.leaves.append(held)
        self.entries.append({"id": _id(held.number), "op": "tensor", "inputs": [], "shape": list(array.shape), "dtype": held.dtype,
                             "attrs": {"data": base64.b64encode(array.tobytes()).decode()}})  # fmt: skip

    def op(self, index: int, one: Mapping[str, Any], wanted: set[int]) -> None:
        """Writes a lowered op: one entry for each output that is read."""
        specs = [self.plan.specs[vid] for vid in one["outputs"]]
        attrs = dict(one["attrs"])
        inputs = self._inputs(one["inputs"], attrs)
        if len(specs) > 1:
            attrs["outputs"] = [{"shape": list(spec.shape), "dtype": spec.dtype} for spec in specs]
        made = {}
        for place, (vid, spec) in enumerate(zip(one["outputs"], specs)):
            if self.plan.storage(vid) not in wanted and len(specs) > 1:
                continue
            number = self._new(index)
            self.entries.append({"id": _id(number), "op": one["op"], "inputs": inputs, "shape": list(spec.shape), "dtype": spec.dtype,
                                 "attrs": attrs if len(specs) == 1 else {**attrs, "output": place}})  # fmt: skip
            made[self.plan.storage(vid)] = number, spec.shape
        self.now.update(made)

    def _inputs(self, vids: list[int], attrs: dict[str, Any]) -> list[str]:
        held = [self.now[self.plan.storage(vid)] for vid in vids]
        shapes = [self.plan.specs[vid].shape for vid in vids]
        if any(shape != known for shape, (_, known) in zip(shapes, held)):
            attrs["inputs_as"] = [list(shape) for shape in shapes]
        return [_id(number) for number, _ in held]

    def output(self, vid: int) -> int:
        """Returns the number of a tensor that holds only this output, in its own shape."""
        number, shape = self.now[self.plan.storage(vid)]
        spec = self.plan.specs[vid]
        if number not in self.temporary or number in self._outputs or shape != spec.shape:
            attrs: dict[str, Any] = {}
            inputs = self._inputs([vid], attrs)
            number = self._new(None)
            self.entries.append({"id": _id(number), "op": "copy", "inputs": inputs, "shape": list(spec.shape), "dtype": spec.dtype, "attrs": attrs})
        self._outputs.add(number)
        return number

    def _new(self, index: int | None) -> int:
        number = next(self.numbers)
        self.temporary.add(number)
        if index is not None:
            self.of_number[number] = self.of_entry[len(self.entries)] = index
        return number


def _id(number: int) -> str:
    return f"v{number}"


def _drop(number: int, tape: list[int], dropped: list[tuple[int, int]]) -> None:
    """Notes that a value on the tape of a session is no longer referenced."""
    if tape:
        dropped.append((tape[0], number))


def _wanted(graph: GraphData, lowered: list[dict[str, Any]], plan: BindingPlan) -> set[int]:
    """Returns the roots of values that an op or the program reads."""
    return {plan.storage(vid) for vid in itertools.chain(graph.outputs.values(), *(one["inputs"] for one in lowered))}


def _why_no_tape(lowered: list[dict[str, Any]], plan: BindingPlan) -> str:
    """Returns why the daemon cannot run the ops; "" if it can."""
    results = sum(len(one["outputs"]) for one in lowered)
    if results > RESULTS_MAX:
        return f"the ops have {results} results, more than {RESULTS_MAX}"
    registered = {one.op for one in registrations.of_process()}
    for one in lowered:
        if one["op"] in registered:
            return f"{one['op']} has kernels that this process registered"
        if any(0 in plan.specs[vid].shape for vid in (*one["inputs"], *one["outputs"])):
            return f"{one['op']} has a tensor without elements"
        if any(isinstance(value, float) and not math.isfinite(value) for value in one["attrs"].values()):
            return f"{one['op']} has an attribute that is not finite"
    return ""


def _as_device_error(problem: Exception, said: str, index: int | None, graph: GraphData, lowered: list[dict[str, Any]]) -> DeviceError:
    kind = next((made for of, made in KINDS.items() if isinstance(problem, of)), None)
    if isinstance(problem, gpuemu.errors.LimitExceededError) and any(name in said for name in TIME_LIMITS):
        kind = None
    raised = kind(said) if kind is not None else DeviceError(said, getattr(problem, "code", "") or "Internal")
    return raised if index is None else told(raised, lowered[index], index, graph.nodes[lowered[index]["node"]].where)


