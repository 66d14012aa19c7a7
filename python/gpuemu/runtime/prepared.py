"""Calls of ops that are repeated in one order with tensors at other addresses: prepared once, and captured when addresses
recur."""

from __future__ import annotations

import ctypes
import sys
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from gpuemu.errors import KernelError
import gpuemu.runtime.errors as errors
import gpuemu.runtime.library as library
import gpuemu.runtime.structs as structs
from gpuemu.runtime.tensors import Tensor

GRAPHS_MAX = 16  # Most graphs of one PreparedCalls. A loop may alternate between several addresses.
SEEN_MAX = 64  # Most addresses that are remembered until they recur.
RECURRENCES = 1  # Recurrences of the same addresses after which a graph is made.

Addresses = tuple[int, ...]


class _Recurring(NamedTuple):
    """The state of one set of addresses. graph: its handle; 0: it cannot be captured."""

    times: int
    last: int  # The number of the last run with these addresses.
    graph: int = 0


def order_behind(stream: Any, blocks: Sequence[Any]) -> None:
    """Makes later work of the stream wait for work that other streams have issued with the memory."""
    others = {id(one): one for block in blocks for one in list(block.streams.values()) if one is not stream}
    for one in others.values():
        if not one.is_closed and one._graph is None:
            stream.wait(one.record())


class PreparedCalls:
    """Repeated calls of built-in ops, with other tensors in some places. Everything that does not change was checked by the first
    run. On a GPU, where freed memory is often allocated again at the same addresses, calls with earlier addresses are launched as
    a captured graph. A graph keeps no memory: it is launched only when its addresses are those of live tensors."""

    captures: bool | None = None  # Whether graphs are made; None: only on a GPU. On the emulator they would save little.

    def __init__(self, device: Any) -> None:
        self._device = device
        self._calls: list[structs.Call] = []
        self._row: Any = None  # The addresses of the calls.
        self._stream = 0  # The handle of the stream in the calls.
        self._places: dict[Any, list[structs.Operand]] = {}
        self._kept: list[Any] = []
        self._runs = 0
        self._seen: OrderedDict[Addresses, _Recurring] = OrderedDict()
        self._graphs: OrderedDict[Addresses, _Recurring] = OrderedDict()  # The least recently used first.
        self._choices = -1  # The state of the device's choices for which the graphs were captured.
        self._own_stream: Any = None  # The stream on which graphs are captured.

    def add(self, op: str, inputs: Sequence[tuple[Any, Tensor]], outputs: Sequence[tuple[Any, Tensor]], schema_id: int, attributes: bytes) -> None:
        """Adds a call with tensors, each with a name of its memory. The caller keeps their memory, or replaces it by issue()."""
        rows = [structs.operands([tensor for _, tensor in side]) for side in (inputs, outputs)]
        self._calls.append(structs.Call(
            struct_bytes=ctypes.sizeof(structs.Call), op=self._device._op_number(op), inputs=ctypes.addressof(rows[0]), outputs=ctypes.addressof(rows[1]),
            input_count=len(inputs), output_count=len(outputs), schema_id=schema_id, attribute_bytes=len(attributes), attributes=attributes))
        for side, row in zip((inputs, outputs), rows):
            for (name, tensor), operand in zip(side, row):
                self._places.setdefault(name, []).append(operand)
                self._kept.append((tensor._sizes, tensor._steps))
        self._kept.append(rows)
        self._row = (ctypes.c_void_p * len(self._calls))(*map(ctypes.addressof, self._calls))

    def issue(self, addresses: Mapping[Any, int], blocks: Sequence[Any], stream: Any) -> tuple[int, Exception | None]:
        """Makes the calls with these addresses in their places, after the work of other streams with `blocks`: all memory that
        the calls use, except memory just allocated for the stream. Returns how many succeeded, and the error of the next one; -1
        for an error of all calls."""
        handle, context = stream._live(), self._device._context
        foreign = []
        for block in blocks:
            if len(block.streams) != 1 or handle not in block.streams or block.mark is not None:
                foreign.append(block)
        if foreign:
            order_behind(stream, foreign)
        graph = self._graph_of(addresses)
        entered = context.enter()
        try:
            if graph:
                done, code = -1, self._device._library.gpuemu_graph_launch(entered, graph, handle)
            else:
                self._put(addresses, handle)
                done, code = self._issue(entered)
                if code == errors.RESOURCE_EXHAUSTED and self._device._makes_room():
                    done, code = self._issue(entered, done)
            if code:
                self._device._check_using((stream,), context.library.check, code)
        except (errors.DeviceError, KernelError) as problem:
            return done, problem
        finally:
            context.leave()
            for block in foreign:
                block.used_by(stream)
        return done, None

    def _put(self, addresses: Mapping[Any, int], stream: int) -> None:
        places = self._places
        for name, address in addresses.items():
            for operand in places.get(name, ()):
                operand.data = address
        if stream != self._stream:
            self._stream = stream
            for call in self._calls:
                call.stream = stream

    def _issue(self, context: Any, done: int = 0) -> tuple[int, int]:
        """Makes the calls from number `done` on. Returns how many have succeeded, and the code of the next one."""
        functions = self._device._library
        if not functions.has("gpuemu_op_calls"):
            for number in range(done, len(self._calls)):
                if code := functions.gpuemu_op_call(context, ctypes.byref(self._calls[number])):
                    return number, code
            return len(self._calls), 0
        issued, row, count = ctypes.c_uint32(), self._row, len(self._calls) - done
        if done:
            row = (ctypes.c_void_p * count)(*row[done:])
        code = functions.gpuemu_op_calls(context, row, count, ctypes.byref(issued))
        return done + issued.value, code

    def _graph_of(self, addresses: Mapping[Any, int]) -> int:
        """Returns the graph of the calls at these addresses, captured now if they have recurred often enough; 0 if there is none.
        While calls are logged or profiled, they are made one by one."""
        device = self._device
        if not (not device.is_emulator if self.captures is None else self.captures) or device._watchers:
            return 0
        if self._choices != device._choices:
            self._forget_graphs()
            self._choices = device._choices
        self._runs += 1
        key = tuple(addresses.values())
        found = self._graphs.pop(key, None)
        if found is None:
            before = self._seen.pop(key, _Recurring(0, 0))
            found = _Recurring(before.times + 1, self._runs)
            if found.times <= RECURRENCES or not self._makes_room(before.last):
                self._seen[key] = found
                if len(self._seen) > SEEN_MAX:
                    self._seen.popitem(last=False)
                return 0
            # Do not retry addresses that cannot be captured.
            found = _Recurring(found.times, self._runs, self._captured(addresses))
        self._graphs[key] = _Recurring(found.times, self._runs, found.graph)
        return found.graph

    def _makes_room(self, last: int) -> bool:
        """Returns True if there is room for the graph of addresses that were last used in the run `last`. The least recently used
        graph is removed, unless it was used since then: otherwise more alternating addresses than there is room for would be
        captured again and again."""
        if len(self._graphs) < GRAPHS_MAX:
            return True
        key, oldest = next(iter(self._graphs.items()))
        if oldest.last > last:
            return False
        del self._graphs[key]
        self._device._drop_graph(oldest.graph)
        return True

    def _captured(self, addresses: Mapping[Any, int]) -> int:
        """Returns the handle of a new graph; 0 if the device rejects it."""
        device = self._device
        device._captures_change(1)
        try:
            if self._own_stream is None or self._own_stream.is_closed:
                self._own_stream = device.stream(non_blocking=True)
            return self._captured_on(self._own_stream.handle, addresses)
        except errors.DeviceError:
            return 0
        finally:
            device._captures_change(-1)

    def _captured_on(self, stream: int, addresses: Mapping[Any, int]) -> int:
        device, graph = self._device, ctypes.c_uint64()
        self._put(addresses, stream)
        try:
            device._check("gpuemu_capture_begin", stream)
            context = device._context.enter()
            try:
                _, code = self._issue(context)
            finally:
                device._context.leave()
            device._check("gpuemu_capture_end", stream, ctypes.byref(graph))
        except BaseException:  # After Ctrl-C the stream must not stay in a capture.
            device._drop_capture(stream, graph)
            raise
        if code:
            device._drop_graph(graph.value)
        return 0 if code else graph.value

    def _forget_graphs(self) -> None:
        graphs, self._graphs, self._seen = self._graphs, OrderedDict(), OrderedDict()
        for one in graphs.values():
            self._device._drop_graph(one.graph)

    def __del__(self, is_finalizing: Any = sys.is_finalizing) -> None:
        if not is_finalizing() and not library.is_forked() and getattr(self, "_graphs", None):
            self._forget_graphs()
