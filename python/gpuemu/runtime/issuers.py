"""Which program issued the call of a kernel that went wrong: calls of a program have numbers, which findings repeat."""

from __future__ import annotations

import contextlib
import itertools
import threading
import weakref
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, TypeVar, Union

from gpuemu.errors import KernelError
from gpuemu.runtime.errors import DeviceError

RECENT_MAX = 16  # Most programs whose ops are named after nothing else refers to them.
_INDEX_BITS = 24  # More ops than a program can have.

_numbers = itertools.count(1)
_lock = threading.Lock()
_alive: weakref.WeakValueDictionary[int, Issuer] = weakref.WeakValueDictionary()
_recent: OrderedDict[int, Program] = OrderedDict()  # Without their devices, which live as long as somebody uses them.

E = TypeVar("E", bound=Union[DeviceError, KernelError])


def told(problem: E, one: Mapping[str, Any], index: int, where: str) -> E:
    """Adds to the error the op that raised it and the line that wrote the op."""
    said = f"op {index}, {one['op']}" + (f", written at {where}" if where else "")
    problem.args = (f"{said}: {problem.args[0] if problem.args else ''}", *problem.args[1:])
    return problem


class Program(NamedTuple):
    """A lowered program. nodes: have the line that wrote them as `where`."""

    lowered: Sequence[Mapping[str, Any]]
    nodes: Sequence[Any]


class Issuer:
    """Issues the calls of a program: `with issuer:` numbers those that this thread makes, one for each lowered op."""

    def __init__(self, device: Any, lowered: Sequence[Mapping[str, Any]], nodes: Sequence[Any]) -> None:
        self.program, self._number = Program(lowered, nodes), next(_numbers)
        functions = device._library
        self._tag = functions.gpuemu_op_tag if device.is_emulator and functions.has("gpuemu_op_tag") else None
        self._context = device._context

    def __enter__(self) -> None:
        if self._tag is None:
            return
        with _lock:
            _alive[self._number], _recent[self._number] = self, self.program
            _recent.move_to_end(self._number)
            if len(_recent) > RECENT_MAX:
                _recent.popitem(last=False)
        self._context.check(self._tag, self._number << _INDEX_BITS)

    def __exit__(self, *_: object) -> None:
        if self._tag is not None:
            with contextlib.suppress(DeviceError):  # Another thread may have closed the device.
                self._context.call(self._tag, 0)


def named(problem: E, calls: Sequence[int]) -> E:
    """Adds to a fault the op of a program that it comes from, if that is known. calls: the numbers of its findings, 0 for none."""
    first = next(filter(None, calls), 0)
    index = first & ((1 << _INDEX_BITS) - 1)
    number = first >> _INDEX_BITS
    with _lock:
        alive = _alive.get(number)
        found = _recent.get(number) if alive is None else alive.program
    if found is None or index >= len(found.lowered):
        return problem
    if isinstance(problem, KernelError):
        problem.op_index = index
    one = found.lowered[index]
    return told(problem, one, index, found.nodes[one["node"]].where)
