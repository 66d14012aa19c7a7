"""Calls functions of the library for one device, and collects the faults of its kernels."""

from __future__ import annotations

import contextlib
import ctypes
import json
import threading
from collections.abc import Sequence
from typing import Any

from gpuemu.device.places import Place
import gpuemu.runtime.errors as errors
import gpuemu.runtime.issuers as issuers
import gpuemu.runtime.library as library
import gpuemu.runtime.structs as structs
from gpuemu.runtime.streams import Stream
from gpuemu.runtime.tensors import Tensor

FINDINGS_MAX = 64


class DeviceCalls(library.Unique):
    """The library calls of a Device."""

    is_emulator: bool

    def __init__(self, context: library.Context) -> None:
        self._context, self._library, self.name = context, context.library, context.name
        self._lock = threading.RLock()
        self._told: list[Place] = []  # Returned by the next findings(). Guarded by _lock.
        self._captures = 0  # Number of current captures. Guarded by _lock.
        self._ops: dict[str, int] = {}

    @property
    def is_closed(self) -> bool:
        """True after close()."""
        return self._context.is_closed

    def findings(self) -> list[Place]:
        """Returns the findings of kernels since the last call, at most 64, including notes; a GPU reports none."""
        self._insist()
        self._take_findings()
        with self._lock:
            told, self._told = self._told, []
        return told

    def _told_apart_from(self, other: Any) -> str:
        """Returns its name for a message that also names the other device, which may be the same."""
        return f"{self.name}, the same device object" if other.name == self.name else self.name

    def _insist(self) -> None:
        library.refuse_forked()
        if self.is_closed:
            raise errors.ReleasedError(f"the device {self.name} is closed")

    def _check(self, function: str, *arguments: Any) -> None:
        self._context.check(getattr(self._library, function), *arguments)

    def _makes_room(self) -> bool:
        """Returns spare memory to the device, from which ops take their workspaces. Returns False if there was none."""
        raise NotImplementedError

    def _check_using(self, used: Sequence[Any], function: Any, *arguments: Any) -> None:
        """Like _check. An object that another thread closed after it was checked raises ReleasedError."""
        try:
            function(*arguments)
        except errors.InvalidArgumentError as problem:
            gone = next((one for one in used if one.is_closed), None)
            if gone is None or isinstance(problem, errors.ReleasedError):
                raise
            raise errors.ReleasedError(f"{gone!r} was closed meanwhile: {problem}") from None

    def _check_on(self, stream: Stream, function: str, *arguments: Any) -> None:
        """Makes a call whose last argument is the stream."""
        self._check_using([stream], self._check, function, *arguments, stream.handle)

    def _wait_for(self, stream: Stream) -> None:
        self._check_using([stream], self._wait, "gpuemu_stream_synchronize", stream.handle)

    def _text(self, function: str, *arguments: Any) -> str:
        return self._context.text(getattr(self._library, function), *arguments)

    def _json(self, function: str, *arguments: Any) -> Any:
        return json.loads(self._text(function, *arguments))

    def _wait(self, function: str, *arguments: Any) -> None:
        """Makes a call that waits, and raises earlier faults of kernels."""
        try:
            self._check(function, *arguments)
            said = ""
        except errors.DeviceError as problem:
            if problem.code != "Launch":
                raise
            said = str(problem)
        self._tell_faults(said)

    def _download(self, stream: Stream, to: int, address: int, nbytes: int) -> None:
        """Copies to the host after the work of the stream, and waits: _check_on() and _wait_for() combined, because every result
        is read by it."""
        context, functions, handle, said = self._context, self._library, stream.handle, ""
        entered = context.enter()
        try:
            code = functions.gpuemu_memory_download(entered, to, address, nbytes, handle) or functions.gpuemu_stream_synchronize(entered, handle)
            if code == errors.LAUNCH:
                said = functions.last_error()
            elif code:
                self._check_using((stream,), functions.check, code)
        finally:
            context.leave()
        self._tell_faults(said)

    def _tell_faults(self, said: str) -> None:
        """Raises the faults of kernels that a wait found; `said` is the wait's message about them, if any."""
        faults = [one for one in self._take_findings() if not one.is_note]
        if faults and self._captures == 0:
            # The next wait must not report these again.
            for _ in range(FINDINGS_MAX):
                if self._context.call(self._library.gpuemu_context_synchronize) != errors.LAUNCH:
                    break
        if said and not faults:
            faults = [Place(kind="fault", message=said)]
            self._keep(faults)
        if faults:
            faults.sort(key=lambda one: not one.call)  # The first one is told, and its op is named.
            raise issuers.named(errors.of_faults(faults), [one.call for one in faults])

    def _take_findings(self) -> list[Place]:
        text = self._text("gpuemu_findings_json") if self.is_emulator else "[]"
        if text == "[]":
            return []
        found = errors.places_of(text)
        self._keep(found)
        return found

    def _keep(self, found: list[Place]) -> None:
        """Keeps findings for findings()."""
        with self._lock:
            self._told = (self._told + found)[:FINDINGS_MAX]

    def _drop_capture(self, stream: int, graph: ctypes.c_uint64) -> None:
        """Ends the capture of a stream, if there is one, and destroys its graph, which may already be here."""
        with contextlib.suppress(errors.DeviceError):
            self._context.call(self._library.gpuemu_capture_end, stream, ctypes.byref(graph))
        self._drop_graph(graph.value)

    def _drop_graph(self, graph: int) -> None:
        """Destroys a graph, if there is one. The device may have destroyed it."""
        if graph:
            with contextlib.suppress(errors.DeviceError):
                self._check("gpuemu_graph_destroy", graph)

    def _op_number(self, name: str) -> int:
        number = self._ops.get(name)
        if number is None:
            found = ctypes.c_uint32()
            self._check("gpuemu_op_find", name.encode(), ctypes.byref(found))
            number = self._ops[name] = found.value
        return number

    def _issue(self, name: str, call: structs.Call, inputs: Sequence[Tensor], outputs: Sequence[Tensor], stream: Stream,
               function: str = "gpuemu_op_call", *further: Any) -> None:  # fmt: skip
        """Calls an op with these operands, and notes that the work uses them. further: arguments of `function`."""
        used = []
        for number, one in enumerate((*inputs, *outputs)):
            block = one._memory._block
            if block is None or one._memory.is_freed:
                block = one._memory._live(f"{name}: {f'inputs[{number}]' if number < len(inputs) else f'outputs[{number - len(inputs)}]'}")
            used.append((one._memory, block))
        for number, one in enumerate(outputs):
            if one._readonly:
                raise errors.InvalidArgumentError(f"{name}: outputs[{number}] is read-only; an output is written")
        in_row, out_row = structs.operands(inputs), structs.operands(outputs)
        call.op, call.stream = self._op_number(name), stream.handle
        call.inputs, call.outputs = ctypes.addressof(in_row), ctypes.addressof(out_row)
        call.input_count, call.output_count = len(inputs), len(outputs)
        issue = [stream], self._check, function, ctypes.byref(call), *further
        try:
            self._check_using(*issue)
        except errors.OutOfMemoryError:
            if not self._makes_room():
                raise
            self._check_using(*issue)
        graph = stream._graph
        for owner, block in used:
            block.used_by(stream)
            if graph is not None:
                graph._keep(owner, block)
