"""Creates tensors: random, constant, or with data of the host."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from gpuemu.generate import rng
from gpuemu.program.errors import DTypeError
from gpuemu.program.functions import is_number, number_array
from gpuemu.program.session import SESSION
from gpuemu.program.specs import Spec, as_stored, dtype_of, rounded, shape_of, storage_dtype
from gpuemu.program.tape import Lazy
from gpuemu.program.tensors import Tensor
from gpuemu.tensors import Array


def _made(array: Array, dtype: str, requires_grad: bool, name: str | None) -> Tensor:
    if name is not None and not isinstance(name, str):
        raise TypeError(f"name is of type {type(name).__name__}, expected a str or None")
    place = SESSION.place()
    return Tensor(Lazy(Spec(array.shape, dtype), place, place.put(array, dtype)), requires_grad=requires_grad, name=name)


def _sizes(shape: Sequence[Any]) -> tuple[int, ...]:
    """Returns sizes that are given one by one, or in one tuple."""
    return shape_of(shape[0] if len(shape) == 1 and isinstance(shape[0], (tuple, list)) else shape)


def _drawn(label: str, distribution: str, parameters: list[float], shape: Sequence[Any], dtype: str) -> tuple[Array, str]:
    sizes, kind = _sizes(shape), dtype_of(dtype)
    if kind == "bool":
        raise DTypeError("random tensors are of numbers, not of bool")
    seed, number = SESSION.next_draw()
    made = rng.generate(seed, number, label, distribution, parameters, sizes, kind)
    return (made.view(storage_dtype(kind)) if kind == "bfloat16" else made), kind


def _number(what: str, value: Any) -> float:
    """Returns a finite number. Raises TypeError or ValueError with a message that begins with `what`."""
    if not is_number(value):
        raise TypeError(f"{what} is {value!r}, expected a number")
    if not math.isfinite(value):
        raise ValueError(f"{what} is {value}, expected a finite number")
    return float(value)


def randn(*shape: Any, mean: float = 0.0, std: float = 1.0, dtype: str = "float32", requires_grad: bool = False, name: str | None = None) -> Tensor:
    """Returns normal random numbers. The n-th random tensor after manual_seed(s) has the bits of gpuemu.rng.generate(s, n,
    "program/randn", "normal", [mean, std], shape, dtype)."""
    parameters = [_number("randn: mean", mean), _number("randn: std", std)]
    if parameters[1] < 0:
        raise ValueError(f"randn: std is {std}, expected 0 or more")
    return _made(*_drawn("program/randn", "normal", parameters, shape, dtype), requires_grad, name)


def rand(*shape: Any, lo: float = 0.0, hi: float = 1.0, dtype: str = "float32", requires_grad: bool = False, name: str | None = None) -> Tensor:
    """Returns uniform random numbers from lo to hi, drawn like those of randn, with the label "program/rand" and "uniform"."""
    parameters = [_number("rand: lo", lo), _number("rand: hi", hi)]
    if parameters[0] > parameters[1]:
        raise ValueError(f"rand: lo is {lo} and hi is {hi}, expected lo to be no more than hi")
    return _made(*_drawn("program/rand", "uniform", parameters, shape, dtype), requires_grad, name)


def ones(*shape: Any, dtype: str = "float32", requires_grad: bool = False, name: str | None = None) -> Tensor:
    """Returns a tensor of ones."""
    return full(_sizes(shape), 1, dtype=dtype, requires_grad=requires_grad, name=name)


def zeros(*shape: Any, dtype: str = "float32", requires_grad: bool = False, name: str | None = None) -> Tensor:
    """Returns a tensor of zeros."""
    return full(_sizes(shape), 0, dtype=dtype, requires_grad=requires_grad, name=name)


def full(shape: Any, value: float, *, dtype: str = "float32", requires_grad: bool = False, name: str | None = None) -> Tensor:
    """Returns a tensor with one number in every element."""
    sizes, kind = shape_of(shape), dtype_of(dtype)
    if not is_number(value):
        raise TypeError(f"full: value is {value!r}, expected a number")
    number = rounded(np.asarray(bool(value)), kind) if kind == "bool" else number_array(value, kind, "full")
    return _made(np.full(sizes, number, dtype=storage_dtype(kind)), kind, requires_grad, name)


def tensor(data: Any, *, dtype: str | None = None, requires_grad: bool = False, name: str | None = None) -> Tensor:
    """Copies an array of any framework, a nested list or a number, with its own dtype; Python floats become float32."""
    return _made(*as_stored(data.data if isinstance(data, Tensor) else data, dtype, "tensor"), requires_grad, name)
