"""The registrations of this process, and the devices that have them."""

from __future__ import annotations

import ctypes
import itertools
import pathlib
import re
import threading
import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import gpuemu.runtime.errors as errors
import gpuemu.runtime.structs as structs


# Matches atomic additions: of any type in CUDA C++, where the type is unknown here; of floats in PTX.
ATOMIC_SUM = re.compile(r"\batomicAdd\w*\s*\(|\bfetch_add\s*\(|\b(?:atom|red)\.[\w.:]*add[\w.:]*\.(?:f|bf)(?:16|32|64)")


@dataclass(frozen=True)
class TensorSpec:
    """A tensor without its content. strides: in elements; None: contiguous, row-major."""

    shape: tuple[int, ...]
    strides: tuple[int, ...] | None = None
    dtype: str = "float32"


_numbers = itertools.count(1)


class Entry:
    """One op or kernel. `declared`: its struct of the C interface, with what that points to in `kept`; `number`: unique
    in the process."""

    def __init__(self, op: str, name: str, declared: Any, kept: Any, only: Any = None) -> None:
        self.number = next(_numbers)
        self.op, self.name, self.declared, self.kept = op, name, declared, kept
        self.only = None if only is None else weakref.ref(only)
        self.handles: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()
        self.described: dict[str, Any] = {}  # Arguments to register it again, as JSON; an op's functions are left out.
        self.infer: Callable[..., Any] | None = None
        self.reference: Callable[..., Any] | None = None
        self.error_scale: Callable[..., Any] | None = None
        self.fields: Mapping[str, Any] = {}
        self.operands: tuple[tuple[str, ...], tuple[str, ...]] = ((), ())

    @property
    def is_op(self) -> bool:
        """True for an op, False for a kernel."""
        return isinstance(self.declared, structs.OpDeclaration)

    def concerns(self, device: Any) -> bool:
        """True if it is registered for this device."""
        return self.only is None or self.only() is device

    def apply(self, device: Any) -> None:
        """Registers it on a device. Raises the library's error."""
        if self.is_op:
            made = ctypes.c_uint32()
            device._check("gpuemu_op_register", ctypes.byref(self.declared), ctypes.byref(made))
            self.handles[device] = made.value
        else:
            handle = ctypes.c_uint64()
            self.declared.op = device._op_number(self.op)
            device._check("gpuemu_kernel_register", ctypes.byref(self.declared), ctypes.byref(handle))
            self.handles[device] = handle.value
        forget(device, self.op)

    def withdraw(self, device: Any) -> None:
        """Undoes apply()."""
        handle = self.handles.pop(device, None)
        if handle is not None and not device.is_closed:
            device._check("gpuemu_op_remove" if self.is_op else "gpuemu_kernel_remove", handle)
        forget(device, self.op)


class _State:
    """The state of the process."""

    lock = threading.RLock()
    entries: list[Entry] = []
    devices: weakref.WeakSet[Any] = weakref.WeakSet()
    # Callbacks are kept: another thread may be in one while its kernel is removed.
    callbacks: list[Any] = []


def forget(device: Any, op: str) -> None:
    """Drops what the device has cached of an op."""
    device._choices += 1
    device._infos.pop(op, None)
    device._ops.pop(op, None)


def attach(device: Any) -> None:
    """Applies the registrations of the process to a new device."""
    with _State.lock:
        for one in _State.entries:
            if one.only is None:
                one.apply(device)
        _State.devices.add(device)


def add(entry: Entry) -> None:
    """Registers it on all open devices that it concerns, or on none. Raises the library's error."""
    with _State.lock:
        done: list[Any] = []
        try:
            for device in list(_State.devices):
                if not device.is_closed and entry.concerns(device):
                    entry.apply(device)
                    done.append(device)
        except Exception:
            for device in done:
                entry.withdraw(device)
            raise
        _State.entries.append(entry)


def remove(entry: Entry) -> None:
    """Removes it from every device; removing an op removes its kernels. May be called twice."""
    with _State.lock:
        if entry not in _State.entries:
            return
        for device in list(_State.devices):
            entry.withdraw(device)
        gone = [one for one in _State.entries if one is entry or (entry.is_op and one.op == entry.op)]
        _State.entries[:] = [one for one in _State.entries if one not in gone]


def is_registered(entry: Entry) -> bool:
    """True unless it was removed, directly or with its op."""
    with _State.lock:
        return entry in _State.entries


def op_named(name: str) -> Entry | None:
    """Returns the registered op of that name."""
    if not _State.entries:
        return None
    with _State.lock:
        return next((one for one in _State.entries if one.is_op and one.op == name), None)


def op_names() -> list[str]:
    """Names of the registered ops."""
    with _State.lock:
        return [one.op for one in _State.entries if one.is_op]


def of_process() -> list[Entry]:
    """Ops and kernels registered for all devices of the process, in order."""
    with _State.lock:
        return [one for one in _State.entries if one.only is None]


def news(known: set[int]) -> tuple[list[Any], list[int]]:
    """The registrations that another process lacks, and the numbers of those it must remove. `known`: the numbers it has; updated to
    the numbers of this process."""
    there = {one.number: one for one in of_process()}
    new = [(number, one.is_op, one.op, one.name, one.described) for number, one in there.items() if number not in known]
    gone = [number for number in known if number not in there]
    known.clear()
    known.update(there)
    return new, gone


def kernel_named(device: Any, op: str, name: str) -> Entry | None:
    """Returns the registered kernel of that name on a device."""
    with _State.lock:
        return next((one for one in _State.entries if not one.is_op and (one.op, one.name) == (op, name) and device in one.handles), None)


def adds_by_atomics(device: Any, op: str, name: str) -> bool:
    """True if the source of a registered kernel has atomic additions, whose order varies between runs. Built-in kernels have
    none."""
    entry = kernel_named(device, op, name)
    return entry is not None and ATOMIC_SUM.search(source_text(entry.described["source"])) is not None


def source_text(source: str) -> str:
    """The CUDA C++ or PTX of `source`, which is the text itself or the path of a file."""
    is_file = "\n" not in source and source.endswith((".cu", ".ptx"))
    try:
        return pathlib.Path(source).read_text() if is_file else source
    except OSError:
        return ""  # Compiling reports the error.


def keep(callback: Any) -> Any:
    """Keeps the callback, which the library may call as long as the process lives."""
    _State.callbacks.append(callback)
    return callback


def check_outputs(entry: Entry, inputs: Sequence[Any], outputs: Sequence[Any], attrs: Mapping[str, Any]) -> None:
    """Raises InvalidArgumentError for outputs that differ from the result of the op's infer()."""
    if entry.infer is None or len(inputs) != len(entry.operands[0]) or len(outputs) != len(entry.operands[1]):
        return
    made = entry.infer(*[TensorSpec(one.shape, one.strides, one.dtype) for one in inputs], **{**entry.fields, **attrs})
    if not isinstance(made, Sequence) or len(made) != len(outputs) or not all(isinstance(one, TensorSpec) for one in made):
        raise errors.InvalidArgumentError(f"{entry.op}: infer() gives {made!r}, expected a list of {len(outputs)} TensorSpec")
    for name, one, spec in zip(entry.operands[1], outputs, made):
        if (one.shape, one.dtype) != (tuple(spec.shape), spec.dtype):
            raise errors.InvalidArgumentError(f"{entry.op}: {name} is {one.dtype}{list(one.shape)}, expected {spec.dtype}{list(spec.shape)}")
