"""Converts arrays to the protocol's tensors and back: packed row-major little-endian elements in base64."""

from __future__ import annotations

import base64
import inspect
from collections.abc import AsyncIterator, Awaitable, Iterator, Mapping, Set
from dataclasses import dataclass
from typing import Any

import numpy as np

from gpuemu import dtypes_generated

DTYPES = dtypes_generated.DTYPES
Array = np.ndarray[Any, np.dtype[Any]]


def bfloat16() -> np.dtype[Any] | None:
    """Returns NumPy's type for bfloat16, from ml_dtypes; None if that is not installed."""
    try:
        import ml_dtypes
    except ImportError:
        return None
    kind: np.dtype[Any] = np.dtype(ml_dtypes.bfloat16)
    return kind


def numpy_dtype(name: Any) -> np.dtype[Any]:
    """Returns NumPy's type for a dtype's name."""
    if str(name) != "bfloat16":
        plain: np.dtype[Any] = np.dtype(name)
        return plain
    kind = bfloat16()
    if kind is None:
        raise TypeError("bfloat16 needs the package ml_dtypes: pip install ml_dtypes")
    return kind


def dtype_name(value: Any) -> str:
    """Returns the protocol's name for the dtype of an array of any framework."""
    dtype = value.dtype
    return str(getattr(dtype, "name", dtype)).removeprefix("torch.")


def is_cupy(value: Any) -> bool:
    """True for an array of CuPy: it is in GPU memory, and NumPy does not copy it implicitly."""
    return type(value).__module__.partition(".")[0] == "cupy" and hasattr(value, "get")


def unmasked(value: Any, what: str = "array") -> Any:
    """Returns the data of a masked array that masks nothing; everything else unchanged. Raises TypeError if elements are masked:
    they have no value, and everything that is compared with them would be masked, too."""
    if isinstance(value, (list, tuple)):
        return [unmasked(one, what) for one in value] if any(isinstance(one, np.ma.MaskedArray) for one in value) else value
    if not isinstance(value, np.ma.MaskedArray):
        return value
    hidden = np.ascontiguousarray(np.ma.getmaskarray(value)).view(np.bool_)
    if hidden.any():
        raise TypeError(f"the {what} is a masked array that masks {int(hidden.sum())} of {hidden.size} elements, which have no value: "
                        "give .filled(value), or .data where the mask does not count")  # fmt: skip
    return np.asarray(value.data)


def _insist_on_elements(value: Any, what: str) -> None:
    """Rejects values that NumPy would convert to an array of one element, the object itself."""
    if value is None:
        raise TypeError(f"the {what} is None, expected an array")
    if inspect.iscoroutine(value):
        value.close()  # Python would warn about a coroutine that is never awaited.
    if isinstance(value, (Awaitable, Iterator, AsyncIterator, Mapping, Set)) and not hasattr(value, "shape"):
        raise TypeError(f"the {what} is of type {type(value).__name__}, expected an array")


def as_array(value: Any, what: str = "array") -> Array:
    """Converts an array of any framework to NumPy, without a copy if possible; drops gradients.

    torch.bfloat16 needs ml_dtypes, because NumPy has no such type. Raises TypeError, which names `what`, for values without
    elements to compare: masked elements, coroutines, generators, dicts and sets.
    """
    value = unmasked(value, what)
    if isinstance(value, np.ndarray):
        return value if type(value) is np.ndarray else np.asarray(value)
    _insist_on_elements(value, what)
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
    if hasattr(value, "__dlpack__") and not any(hasattr(value, name) for name in ("__array__", "__array_interface__", "__array_struct__", "__buffer__")):
        return np.from_dlpack(value)
    return np.asarray(value)


def owned(inputs: Mapping[str, Array]) -> dict[str, Array]:
    """Copies arrays for a function that may change its arguments: the verdict must be about the drawn inputs."""
    return {name: array.copy() for name, array in inputs.items()}


@dataclass(frozen=True)
class Outgoing:
    """An array to be sent in a message. strides: in bytes, as clients have always sent them; `packed` is contiguous in any
    case."""

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: str
    packed: Array

    def record(self, memory: dict[str, Any] | None = None) -> dict[str, Any]:
        """Returns the protocol's tensor: with the elements, or with a reference to the shared memory that contains them."""
        told: dict[str, Any] = {"shape": list(self.shape), "strides": list(self.strides), "dtype": self.dtype}
        if memory is not None:
            return {**told, "memory": memory}
        return {**told, "data": base64.b64encode(self.packed.tobytes()).decode("ascii")}


def outgoing(value: Any, *, own: bool = False, what: str = "array") -> Outgoing:
    """Prepares an array of any framework; own: copies it, for a message that is written later. Raises TypeError for a type that
    the protocol does not have; the error names `what`."""
    array = as_array(value, what)
    name = str(array.dtype.newbyteorder("=")) if array.dtype.kind != "V" else str(array.dtype)
    if name not in DTYPES:
        raise TypeError(f"the {what} cannot be sent: {name} has no dtype in the protocol; it has {', '.join(DTYPES)}")
    packed = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<") if array.dtype.byteorder == ">" else None)
    return Outgoing(array.shape, array.strides, name, packed.copy() if own and np.may_share_memory(packed, array) else packed)


def encode(value: Any) -> dict[str, Any]:
    """Returns the TensorData of an array. Raises TypeError for a type that the protocol does not have."""
    return outgoing(value).record()


def decode(record: dict[str, Any]) -> Array:
    """Returns the array of a TensorData. bfloat16 has the type of ml_dtypes; without that package its bits are uint16."""
    name = record["dtype"]
    if name not in DTYPES:
        raise TypeError(f"the daemon sent a tensor of unknown dtype '{name}'")
    kind = (bfloat16() or np.dtype(np.uint16)) if name == "bfloat16" else np.dtype(name)
    raw = base64.b64decode(record["data"], validate=True)
    return np.frombuffer(bytearray(raw), dtype=kind).reshape(tuple(record["shape"]))
