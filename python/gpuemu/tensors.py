"""Arrays to the protocol's tensors and back: packed row-major little-endian elements in base64."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]
DTYPES = (
    "float16", "bfloat16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
    "bool",
)  # fmt: skip


def bfloat16() -> np.dtype[Any] | None:
    """NumPy's type for bfloat16, from ml_dtypes; None when that is not installed."""
    try:
        import ml_dtypes
    except ImportError:
        return None
    kind: np.dtype[Any] = np.dtype(ml_dtypes.bfloat16)
    return kind


def numpy_dtype(name: Any) -> np.dtype[Any]:
    """NumPy's type for a dtype's name."""
    if str(name) != "bfloat16":
        plain: np.dtype[Any] = np.dtype(name)
        return plain
    kind = bfloat16()
    if kind is None:
        raise TypeError("bfloat16 needs the package ml_dtypes: pip install ml_dtypes")
    return kind


def dtype_name(value: Any) -> str:
    """The protocol's name for the dtype of an array of any framework."""
    dtype = value.dtype
    return str(getattr(dtype, "name", dtype)).removeprefix("torch.")


def is_cupy(value: Any) -> bool:
    """An array of CuPy: in memory of a GPU, and NumPy does not copy it by itself."""
    return type(value).__module__.partition(".")[0] == "cupy" and hasattr(value, "get")


def as_array(value: Any) -> Array:
    """A NumPy array of an array of any framework, without a copy where that can be; gradients are left behind.

    torch.bfloat16 needs ml_dtypes, because NumPy has no such type.
    """
    if isinstance(value, np.ndarray):
        return value
    if hasattr(value, "detach"):  # torch
        value = value.detach().cpu()
        if str(value.dtype) == "torch.bfloat16":
            kind = bfloat16()
            if kind is None:
                raise TypeError("a bfloat16 tensor needs the package ml_dtypes: pip install ml_dtypes")
            import torch

            return np.asarray(value.contiguous().view(torch.int16).numpy()).view(kind)
    if is_cupy(value):
        return np.asarray(value.get())
    if hasattr(value, "numpy") and callable(value.numpy):
        return np.asarray(value.numpy())
    return np.asarray(value)


@dataclass(frozen=True)
class Outgoing:
    """An array on its way into a message. strides: in bytes, as clients have always sent them; `packed` is contiguous
    whatever they are."""

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: str
    packed: Array

    def record(self, memory: dict[str, Any] | None = None) -> dict[str, Any]:
        """The protocol's tensor: with the elements in it, or with the memory in which they are."""
        told: dict[str, Any] = {"shape": list(self.shape), "strides": list(self.strides), "dtype": self.dtype}
        if memory is not None:
            return {**told, "memory": memory}
        return {**told, "data": base64.b64encode(self.packed.tobytes()).decode("ascii")}


def outgoing(value: Any, *, own: bool = False) -> Outgoing:
    """An array of any framework; own: a copy, for a message that is written later. Raises TypeError for a type that the
    protocol does not have."""
    array = as_array(value)
    name = str(array.dtype.newbyteorder("=")) if array.dtype.kind != "V" else str(array.dtype)
    if name not in DTYPES:
        raise TypeError(f"{name} has no dtype in the protocol; it has {', '.join(DTYPES)}")
    packed = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<") if array.dtype.byteorder == ">" else None)
    return Outgoing(array.shape, array.strides, name, packed.copy() if own and np.may_share_memory(packed, array) else packed)


def encode(value: Any) -> dict[str, Any]:
    """The TensorData of an array. Raises TypeError for a type that the protocol does not have."""
    return outgoing(value).record()


def decode(record: dict[str, Any]) -> Array:
    """The array of a TensorData. bfloat16 is of ml_dtypes' type, without that package uint16 patterns."""
    name = record["dtype"]
    if name not in DTYPES:
        raise TypeError(f"the daemon sent a tensor of unknown dtype '{name}'")
    kind = (bfloat16() or np.dtype(np.uint16)) if name == "bfloat16" else np.dtype(name)
    raw = base64.b64decode(record["data"], validate=True)
    return np.frombuffer(bytearray(raw), dtype=kind).reshape(tuple(record["shape"]))
