"""Repeats the call that last wrote a tensor, without checking again what has not changed."""

from __future__ import annotations

import ctypes
import weakref
from collections.abc import Sequence
from typing import Any

import gpuemu.runtime.structs as structs
from gpuemu.runtime.tensors import Tensor


class Repeatable:
    """A successful call of a built-in op, kept by its first output. It keeps no tensor alive; threads may share it."""

    __slots__ = ("__weakref__", "_watched", "asked", "call", "device", "function", "ids", "input_count", "memories", "pointer", "rows", "stream", "uses")

    def __init__(self, asked: tuple[Any, ...], call: structs.Call, inputs: Sequence[Tensor], outputs: Sequence[Tensor], stream: Any) -> None:
        self.asked, self.stream, self.input_count, self.device = asked, stream, len(inputs), outputs[0]._device
        operands = (*inputs, *outputs)
        # While its tensors live, an equal id is the same tensor. When one dies, ids and memories are dropped.
        self.ids: list[int] | None = list(map(id, operands))
        self.memories: Sequence[Any] = list({id(one._memory): one._memory for one in operands}.values())
        forget = _forgetting(weakref.ref(self))
        self._watched = [weakref.ref(one, forget) for one in operands]
        self.rows, self.call = (structs.operands(inputs), structs.operands(outputs)), call
        call.inputs, call.outputs = ctypes.addressof(self.rows[0]), ctypes.addressof(self.rows[1])
        self.uses = -1  # The value of Device._uses when its memory was checked and needed nothing.
        self.function, self.pointer = self.device._library.gpuemu_op_call, ctypes.byref(call)

    def asks(self, kind: Any, attrs: Any, schema_id: Any, variant: Any) -> bool:
        """True if it was the same op, attributes and variant."""
        asked = (kind, attrs, schema_id, variant)
        # Equality is not enough: True equals 1, but is not the number of an op.
        return self.asked == asked and list(map(type, self.asked)) == list(map(type, asked))


def _forgetting(call: weakref.ref[Repeatable]) -> Any:
    def forget(_: Any) -> None:
        found = call()
        if found is not None:
            found.ids, found.memories = None, ()

    return forget


def repeated(before: Repeatable, inputs: Sequence[Any], outputs: Sequence[Any], stream: Any, device: Any) -> bool:
    """Returns True if the call is the earlier one with these tensors, and was made. Raises the errors of op_call."""
    own, chosen = before.device, before.stream
    if before.input_count != len(inputs) or (device is not None and device is not own):
        return False
    if stream is None:
        streams = own._local.streams
        current = streams[-1] if streams else own.default_stream
    else:
        current = own._stream(stream)
    if current is not chosen or chosen._graph is not None:
        return False
    memories = before.memories
    if list(map(id, (*inputs, *outputs))) != before.ids:
        return False
    # Keeps the blocks until the call is made, even if another thread frees the memory.
    blocks = [one._block for one in memories]
    if None in blocks:
        return False
    changed: Sequence[Any] = ()
    uses = own._uses
    if before.uses != uses:
        if any([one._was_freed for one in memories]):
            return False
        changed = [one for one in blocks if one.last is not chosen or one.mark is not None]
        before.uses = -1 if changed else uses
    if code := own._context.call(before.function, before.pointer):
        own._check_using((chosen,), own._library.check, code)
    for block in changed:
        block.used_by(chosen)
    return True
