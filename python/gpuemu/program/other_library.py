"""Runs ops with another libgpuemu in a separate process, because one process has one library."""

from __future__ import annotations

import os
import pathlib
import pickle
import subprocess
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

import gpuemu
import gpuemu.runtime.registering as registering
import gpuemu.runtime.registrations as registrations
from gpuemu import runtime
import gpuemu.program.ops.primitives as primitives
from gpuemu.errors import DeviceError, DeviceLostError, KernelError
from gpuemu.runtime.shapes import numpy_type
from gpuemu.tensors import Array

MAIN = f"import sys; from {__name__} import _serve; _serve(*sys.argv[1:])"


class ProcessEnded(runtime.UnsupportedError):
    """The other process did not start, or it ended, for example because a kernel crashed it."""


class OtherLibrary:
    """A process with a library and a device like `device`. Raises UnsupportedError if it does not start."""

    def __init__(self, path: Any, device: runtime.Device) -> None:
        self.path = os.fspath(path)
        root = str(pathlib.Path(gpuemu.__file__).parent.parent)
        paths = os.pathsep.join([root, *filter(None, [os.environ.get("PYTHONPATH")])])
        arch = device.info.architecture if device.is_emulator else ""
        self._process = subprocess.Popen([sys.executable, "-c", MAIN, device.backend, str(device.index), arch], stdin=subprocess.PIPE,
                                         stdout=subprocess.PIPE, env={**os.environ, "GPUEMU_LIBRARY": self.path, "PYTHONPATH": paths})  # fmt: skip
        self._registered: set[int] = set()
        self._answer()

    def compute(self, one: Mapping[str, Any], given: Sequence[Array], specs: Sequence[Any], outputs: Sequence[Any],
                policy: str | None = None) -> tuple[str, list[Array]]:  # fmt: skip
        """Runs a lowered op on these inputs; returns the kernel that ran and the outputs. policy: JSON. Raises what the other process raised."""
        packed = primitives.packed(one["op"], one["attrs"])
        told = [(array.tobytes(), spec.shape, spec.dtype) for array, spec in zip(given, specs)]
        assert self._process.stdin is not None
        try:
            asked = (one["op"], *packed, told, [(spec.shape, spec.dtype) for spec in outputs], policy)
            pickle.dump((asked, registrations.news(self._registered)), self._process.stdin)
            self._process.stdin.flush()
        except BrokenPipeError:
            pass  # Its answer says why it ended.
        variant, made = self._answer()
        return variant, [_array(*one) for one in made]

    def _answer(self) -> Any:
        assert self._process.stdout is not None
        try:
            kind, *told = pickle.load(self._process.stdout)
        except EOFError:
            raise ProcessEnded(f"the process with {self.path} ended with code {self._process.wait()}") from None
        if kind == "made":
            return told
        name, said, findings = told
        if name == "KernelError":
            raise KernelError(findings)
        raise (DeviceLostError if name == "DeviceLostError" else getattr(runtime, name, runtime.UnsupportedError))(f"{self.path}: {said}")

    def close(self) -> None:
        """Ends the process."""
        assert self._process.stdin is not None and self._process.stdout is not None
        try:
            self._process.stdin.close()
        except BrokenPipeError:
            pass
        self._process.stdout.close()
        self._process.wait(timeout=60)


def _array(data: bytes, shape: Sequence[int], dtype: str) -> Array:
    return np.frombuffer(data, numpy_type(dtype)).reshape(shape)


def _own_schema(op: str, told: int) -> int:
    """Returns the schema id of this process for attributes packed by the other one: each process numbers its registered ops
    itself; the low eight bits are the version."""
    own: int = runtime.op_info(op).schema.id
    return own & ~255 | told & 255


def _computed(device: runtime.Device, asked: Any) -> Any:
    op, schema, attrs, given, outputs, policy = asked
    if policy is not None:
        device.set_policy(policy)
    inputs = [device.tensor(_array(*one), dtype=one[2]) for one in given]
    made = [device.empty(shape, dtype) for shape, dtype in outputs]
    with device.dispatch_log(records_max=1) as log:
        runtime.op_call(op, inputs, made, attrs if schema else None, schema_id=_own_schema(op, schema) if schema else None, device=device)
        variant = log.records[0].variant if log.records else ""
    device.synchronize()
    return variant, [(one.numpy().tobytes(), one.shape, one.dtype) for one in made]


def _serve(backend: str, index: str, arch: str) -> None:
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # Keeps output of kernels and libraries out of the answers.

    def answer(kind: str, *told: Any) -> None:
        pickle.dump((kind, *told), answers)
        answers.flush()

    try:
        device = runtime.Device(backend, int(index), arch=arch or None)
    except DeviceError as problem:
        answer("error", type(problem).__name__, str(problem), getattr(problem, "findings", []))
        return
    answer("made")
    followed = registering.Followed()
    while True:
        try:
            asked, news = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        try:
            followed.follow(*news)
            answer("made", *_computed(device, asked))
        except Exception as problem:
            answer("error", type(problem).__name__, str(problem), getattr(problem, "findings", []))
