"""Making calls again, without a second look at what has not changed since."""

from __future__ import annotations

import ctypes
import weakref
from collections.abc import Mapping, Sequence
from typing import Any

import gpuemu.runtime.errors as errors
import gpuemu.runtime.registrations as registrations
import gpuemu.runtime.structs as structs
from gpuemu.runtime.tensors import Tensor


class Repeatable:
    """A call of an op that went through, kept by its first output. It keeps no tensor alive, and nobody changes it: threads may share it."""

    def __init__(self, asked: tuple[Any, ...], name: str, call: structs.Call, inputs: Sequence[Tensor], outputs: Sequence[Tensor], stream: Any) -> None:
        device = outputs[0]._device
        self.asked, self.name, self.stream, self.input_count = asked, name, stream, len(inputs)
        self.tensors = [weakref.ref(one) for one in (*inputs, *outputs)]
        self.rows, self.call = (structs.operands(inputs), structs.operands(outputs)), call
        call.inputs, call.outputs = ctypes.addressof(self.rows[0]), ctypes.addressof(self.rows[1])
        self.function, self.pointer = device._library.gpuemu_op_call, ctypes.byref(call)


def repeated(asked: tuple[Any, ...], inputs: Sequence[Any], outputs: Sequence[Any], stream: Any, device: Any) -> bool:
    """Whether the call is that of before, and was made. asked: kind, attributes, schema_id and variant. Raises what op_call raises."""
    first = outputs[0]
    before: Repeatable | None = first._repeatable
    if before is None or before.asked != asked or before.input_count != len(inputs):
        return False
    own = first._device
    chosen = own._stream(stream)
    if chosen is not before.stream or chosen._graph is not None or (device is not None and device is not own):
        return False
    operands: tuple[Any, ...] = (*inputs, *outputs)
    if len(operands) != len(before.tensors) or registrations.op_named(before.name) is not None:
        return False
    blocks = []
    for known, one in zip(before.tensors, operands):
        memory = one._memory
        if known() is not one or memory._block is None or memory._was_freed:
            return False
        blocks.append(memory._block)
    context = own._context
    handle = context.enter()
    try:
        if code := before.function(handle, before.pointer):
            own._check_using((chosen,), context.library.check, code)
    finally:
        context.leave()
    for block in blocks:
        if block.mark is not None or len(block.streams) != 1 or block.streams.get(chosen.handle) is not chosen:
            block.used_by(chosen)
    return True


def order_behind(stream: Any, blocks: Sequence[Any]) -> None:
    """Work of the stream from now on begins after what other streams have issued with the memory."""
    others = {id(one): one for block in blocks for one in list(block.streams.values()) if one is not stream}
    for one in others.values():
        if not one.is_closed and one._graph is None:
            stream.wait(one.record())


class PreparedCalls:
    """Calls of ops that come with gpuemu, made again and again with other tensors in some places. What does not change was looked at when
    they were made for the first time."""

    def __init__(self, device: Any) -> None:
        self._device, self._calls, self._pointers = device, [], []
        self._stream = 0  # The handle that the calls have.
        self._places: dict[Any, list[structs.Operand]] = {}
        self._kept: list[Any] = []

    def add(self, op: str, inputs: Sequence[tuple[Any, Tensor]], outputs: Sequence[tuple[Any, Tensor]], schema_id: int, attributes: bytes) -> None:
        """A call of tensors, each with a name of its memory. Their memory is the caller's to keep, or to replace by issue()."""
        rows = [structs.operands([tensor for _, tensor in side]) for side in (inputs, outputs)]
        call = structs.Call(
            struct_bytes=ctypes.sizeof(structs.Call), op=self._device._op_number(op), inputs=ctypes.addressof(rows[0]), outputs=ctypes.addressof(rows[1]),
            input_count=len(inputs), output_count=len(outputs), schema_id=schema_id, attribute_bytes=len(attributes), attributes=attributes)
        for side, row in zip((inputs, outputs), rows):
            for (name, tensor), operand in zip(side, row):
                self._places.setdefault(name, []).append(operand)
                self._kept.append((tensor._sizes, tensor._steps))
        self._kept.append(rows)
        self._calls.append(call)
        self._pointers.append(ctypes.byref(call))

    def issue(self, addresses: Mapping[Any, int], blocks: Sequence[Any], stream: Any) -> tuple[int, Exception | None]:
        """Makes the calls with these addresses in their places, behind what other streams do with `blocks`: all memory that they use
        but what was allocated just now for the stream. Returns how many went through, and the error of the one behind them."""
        places = self._places
        for name, address in addresses.items():
            for operand in places.get(name, ()):
                operand.data = address
        handle = stream._live()
        if handle != self._stream:
            self._stream = handle
            for call in self._calls:
                call.stream = handle
        foreign = [block for block in blocks if len(block.streams) != 1 or block.streams.get(handle) is not stream]
        if foreign:
            order_behind(stream, foreign)
        context, function, done = self._device._context, self._device._library.gpuemu_op_call, 0
        entered = context.enter()
        try:
            for pointer in self._pointers:
                if code := function(entered, pointer):
                    self._device._check_using((stream,), context.library.check, code)
                done += 1
        except (errors.DeviceError, errors.KernelError) as problem:
            return done, problem
        finally:
            context.leave()
            for block in blocks:
                if block.mark is not None or block in foreign:
                    block.used_by(stream)
        return done, None
