"""Making the call again that a tensor was written by before, without a second look at what has not changed since."""

from __future__ import annotations

import ctypes
import weakref
from collections.abc import Sequence
from typing import Any

import gpuemu.runtime.registrations as registrations
import gpuemu.runtime.structs as structs
from gpuemu.runtime.tensors import Tensor


class Repeatable:
    """A call of an op that went through, kept by its first output. It keeps no tensor alive, and nobody changes it: threads may share it."""

    __slots__ = ("asked", "call", "device", "function", "input_count", "name", "pointer", "rows", "stream", "tensors")

    def __init__(self, asked: tuple[Any, ...], name: str, call: structs.Call, inputs: Sequence[Tensor], outputs: Sequence[Tensor], stream: Any) -> None:
        self.asked, self.name, self.stream, self.input_count, self.device = asked, name, stream, len(inputs), outputs[0]._device
        self.tensors = [weakref.ref(one) for one in (*inputs, *outputs)]
        self.rows, self.call = (structs.operands(inputs), structs.operands(outputs)), call
        call.inputs, call.outputs = ctypes.addressof(self.rows[0]), ctypes.addressof(self.rows[1])
        self.function, self.pointer = self.device._library.gpuemu_op_call, ctypes.byref(call)

    def asks(self, kind: Any, attrs: Any, schema_id: Any, variant: Any) -> bool:
        """Whether it was the same op, attributes and variant."""
        known = self.asked
        if known[0] is kind and known[1] is attrs and known[2] is schema_id and known[3] is variant:
            return True
        # Equal is not enough: True is equal to 1, and is no number of an op.
        asked = (kind, attrs, schema_id, variant)
        return known == asked and list(map(type, known)) == list(map(type, asked))


def repeated(before: Repeatable, inputs: Sequence[Any], outputs: Sequence[Any], stream: Any, device: Any) -> bool:
    """Whether the call is that of before with these tensors, and was made. Raises what op_call raises."""
    own, chosen = before.device, before.stream
    if before.input_count != len(inputs) or (device is not None and device is not own):
        return False
    if (own.current_stream() if stream is None else own._stream(stream)) is not chosen or chosen._graph is not None:
        return False
    operands: tuple[Any, ...] = (*inputs, *outputs)
    if len(operands) != len(before.tensors) or registrations.op_named(before.name) is not None:
        return False
    handle, changed = chosen.handle, []
    for known, one in zip(before.tensors, operands):
        if known() is not one:
            return False
        memory = one._memory
        block = memory._block
        if block is None or memory._was_freed:
            return False
        streams = block.streams
        if block.mark is not None or len(streams) != 1 or streams.get(handle) is not chosen:
            changed.append(block)
    context = own._context
    entered = context.enter()
    try:
        if code := before.function(entered, before.pointer):
            own._check_using((chosen,), context.library.check, code)
    finally:
        context.leave()
    for block in changed:
        block.used_by(chosen)
    return True
