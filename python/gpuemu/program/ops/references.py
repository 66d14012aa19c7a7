"""Computes the built-in ops with NumPy in float64, and bounds for their errors.

Integers stay integers. `*_scale`: the sum of the magnitudes of the terms of each element.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gpuemu.dtypes_generated import DTYPES as DTYPES
from gpuemu.program.specs import Spec
from gpuemu.tensors import Array

LOW, HALF = np.uint64(0xFFFFFFFF), np.uint64(32)
erfc = np.vectorize(math.erfc, otypes=[np.float64])


@dataclass
class Case:
    """One call. arrays: floats as float64; specs: of the inputs as the kernel sees them; outputs: the output specs."""

    op: str
    arrays: list[Array]
    specs: list[Spec]
    outputs: list[Spec]
    attrs: dict[str, Any]

    def replace(self, arrays: Sequence[Array]) -> Case:
        """Returns the same call with other values."""
        return dataclasses.replace(self, arrays=list(arrays))

    def number(self, name: str) -> float:
        """Returns an attribute with the precision of the kernel: float32, except for float64 tensors."""
        if self.specs[0].dtype == "float64":
            return float(self.attrs.get(name + "_double") or self.attrs[name])
        return float(np.float32(self.attrs[name]))


def add(c: Case) -> list[Array]:
    return [c.arrays[0] + c.arrays[1]]


def sub(c: Case) -> list[Array]:
    return [c.arrays[0] - c.arrays[1]]


def mul(c: Case) -> list[Array]:
    return [c.arrays[0] * c.arrays[1]]


def div(c: Case) -> list[Array]:
    return [c.arrays[0] / c.arrays[1]]


def copy(c: Case) -> list[Array]:
    return [c.arrays[0]]


def relu(c: Case) -> list[Array]:
    return [np.where(c.arrays[0] <= 0, 0.0, c.arrays[0])]


def relu_bwd(c: Case) -> list[Array]:
    return [np.where(c.arrays[0] <= 0, 0.0, c.arrays[1])]


def gelu(c: Case) -> list[Array]:
    x = c.arrays[0]
    return [np.where(np.isneginf(x), -0.0, 0.5 * x * erfc(-x / math.sqrt(2.0)))]


def gelu_scale(c: Case) -> list[Array]:
    return [np.maximum(np.abs(gelu(c)[0]), np.abs(c.arrays[0]))]


def sigmoid(c: Case) -> list[Array]:
    x = c.arrays[0]
    e = np.exp(-np.abs(x))
    return [np.where(x < 0, e, np.where(np.isnan(x), x, 1.0)) / (1.0 + e)]


def sigmoid_scale(c: Case) -> list[Array]:
    return [np.abs(sigmoid(c)[0]) * (1.0 + np.abs(c.arrays[0]))]


def silu(c: Case) -> list[Array]:
    x = c.arrays[0]
    e = np.exp(-np.abs(x))
    return [np.where(np.isneginf(x), -0.0, x * np.where(x < 0, e, 1.0) / (1.0 + e))]


def silu_scale(c: Case) -> list[Array]:
    return [np.abs(silu(c)[0]) * (1.0 + np.abs(c.arrays[0]))]


def tanh(c: Case) -> list[Array]:
    return [np.tanh(c.arrays[0])]


def _softmax(x: Array) -> Array:
    e = np.exp(x - x.max(axis=-1, keepdims=True, initial=-np.inf))
    return np.asarray(e / e.sum(axis=-1, keepdims=True))


def _largest(x: Array) -> Array:
    """Returns the largest finite magnitude of each row."""
    return np.asarray(np.where(np.isfinite(x), np.abs(x), 0.0).max(axis=-1, keepdims=True, initial=0.0))


def softmax(c: Case) -> list[Array]:
    return [_softmax(c.arrays[0])]


def softmax_scale(c: Case) -> list[Array]:
    return [np.abs(_softmax(c.arrays[0])) * (1.0 + _largest(c.arrays[0]))]


def _centred(x: Array, eps: float) -> tuple[Array, Array]:
    """Returns rows minus their mean, and 1 / sigma."""
    centred = x - x.mean(axis=-1, keepdims=True)
    return centred, 1.0 / np.sqrt((centred**2).mean(axis=-1, keepdims=True) + eps)


def layernorm(c: Case) -> list[Array]:
    x, weight, bias = c.arrays
    centred, scale = _centred(x, c.number("eps"))
    return [centred * scale * weight + bias]


def layernorm_scale(c: Case) -> list[Array]:
    x, weight, bias = c.arrays
    _, scale = _centred(x, c.number("eps"))
    return [(np.abs(x) + np.abs(x).max(axis=-1, keepdims=True, initial=0.0)) * scale * np.abs(weight) + np.abs(bias)]


def layernorm_bwd(c: Case) -> list[Array]:
    x, weight, dy = (one.reshape(-1, c.arrays[0].shape[-1]) if i != 1 else one for i, one in enumerate(c.arrays))
    centred, scale = _centred(x, float(c.attrs["eps"]))
    h, g = centred * scale, dy * weight
    dx = scale * (g - g.mean(axis=1, keepdims=True) - h * (g * h).mean(axis=1, keepdims=True))
    return [dx.reshape(c.arrays[0].shape), (dy * h).sum(axis=0), dy.sum(axis=0)]


def layernorm_bwd_scale(c: Case) -> list[Array]:
    x, weight, dy = (one.reshape(-1, c.arrays[0].shape[-1]) if i != 1 else one for i, one in enumerate(c.arrays))
    centred, scale = _centred(x, float(c.attrs["eps"]))
    most, h, g = np.abs(x).max(axis=1, keepdims=True, initial=0.0), np.abs(centred * scale), np.abs(dy * weight)
    spread = h + (np.abs(x) + most) * scale  # Subtracting the mean cancels, so this is the error of h.
    inner = g + g.mean(axis=1, keepdims=True) + h * (g * spread).mean(axis=1, keepdims=True) + spread * (g * h).mean(axis=1, keepdims=True)
    return [(scale * inner * (1.0 + most * scale)).reshape(c.arrays[0].shape), (np.abs(dy) * spread).sum(axis=0), np.abs(dy).sum(axis=0)]


def rmsnorm(c: Case) -> list[Array]:
    x, weight = c.arrays
    return [x / np.sqrt((x * x).mean(axis=-1, keepdims=True) + c.number("eps")) * weight]


def matmul(c: Case) -> list[Array]:
    return [c.arrays[0] @ c.arrays[1]]


def gemm(c: Case) -> list[Array]:
    a, b = c.arrays
    return [(a.T if c.attrs["trans_a"] else a) @ (b.T if c.attrs["trans_b"] else b)]


def linear_bwd(c: Case) -> list[Array]:
    x, w, dy = c.arrays
    return [dy @ w, dy.T @ x, dy.sum(axis=0)]


def transpose(c: Case) -> list[Array]:
    return [c.arrays[0].T]


def reduce_sum(c: Case) -> list[Array]:
    return [c.arrays[0].sum(axis=int(c.attrs["axis"]))]


def reduce_mean(c: Case) -> list[Array]:
    axis = int(c.attrs["axis"])
    return [c.arrays[0].sum(axis=axis) / np.float64(c.arrays[0].shape[axis])]


def reduce_max(c: Case) -> list[Array]:
    return [c.arrays[0].max(axis=int(c.attrs["axis"]), initial=-np.inf)]


def mse(c: Case) -> list[Array]:
    x, target = c.arrays
    return [np.asarray(((x - target) ** 2).sum() / np.float64(x.size))]


def mse_grad(c: Case) -> list[Array]:
    x, target = c.arrays
    return [2.0 * (x - target) / max(1, x.size)]


def cross_entropy(c: Case) -> list[Array]:
    x, target = c.arrays
    inside = (target >= 0) & (target < x.shape[1])
    most = x.max(axis=1, initial=-np.inf)
    wanted = x[np.arange(len(x)), np.where(inside, target, 0)] if x.shape[1] else np.zeros(len(x))
    return [np.where(inside, np.log(np.exp(x - most[:, None]).sum(axis=1)) + (most - wanted), 0.0)]


def cross_entropy_scale(c: Case) -> list[Array]:
    x = c.arrays[0]
    return [np.abs(cross_entropy(c)[0]) + _largest(x)[:, 0] + np.log(max(1, x.shape[1])) + 1.0]


def _onehot(x: Array, target: Array) -> Array:
    return np.asarray(np.arange(x.shape[1]) == target[:, None])


def cross_entropy_grad(c: Case) -> list[Array]:
    x, target, dloss = c.arrays
    inside = (target >= 0) & (target < x.shape[1])
    return [np.where(inside[:, None], (_softmax(x) - _onehot(x, target)) * dloss[:, None], 0.0)]


def cross_entropy_grad_scale(c: Case) -> list[Array]:
    x, target, dloss = c.arrays
    return [(_softmax(x) * (1.0 + _largest(x)) + _onehot(x, target)) * np.abs(dloss)[:, None]]


def score_scale(c: Case) -> float:
    """Returns the factor for the products of queries and keys."""
    return float(c.attrs["scale"]) or 1.0 / math.sqrt(max(1, c.arrays[0].shape[-1]))


def weights_of(c: Case) -> tuple[Array, Array]:
    """Returns the weight of each key for each query, and the sums of the magnitudes of the products behind them."""
    q, k = c.arrays[:2]
    scale = score_scale(c)
    scores = scale * (q @ np.swapaxes(k, -1, -2))
    sizes = abs(scale) * (np.abs(q) @ np.swapaxes(np.abs(k), -1, -2))
    if c.attrs["causal"]:
        seen = np.tri(q.shape[-2], k.shape[-2], dtype=bool)
        scores, sizes = np.where(seen, scores, -np.inf), np.where(seen, sizes, 0.0)
    return (_softmax(scores) if k.shape[-2] else scores), sizes


def attention(c: Case) -> list[Array]:
    return [weights_of(c)[0] @ c.arrays[2]]


def attention_scale(c: Case) -> list[Array]:
    weights, sizes = weights_of(c)
    return [(weights @ np.abs(c.arrays[2])) * (1.0 + sizes.max(axis=-1, keepdims=True, initial=0.0))]


def gather(c: Case) -> list[Array]:
    x, index = c.arrays
    axis = int(c.attrs.get("axis", 0)) % x.ndim
    inside = (index >= 0) & (index < x.shape[axis])
    if not x.shape[axis]:
        return [np.zeros(c.outputs[0].shape, x.dtype)]
    taken = np.take(x, np.where(inside, index, 0), axis=axis)
    shape = (1,) * axis + inside.shape + (1,) * (x.ndim - axis - 1)
    return [np.where(inside.reshape(shape), taken, np.zeros((), x.dtype))]


def embedding_bwd(c: Case) -> list[Array]:
    index, dy = c.arrays[0].reshape(-1), c.arrays[1].reshape(-1, c.outputs[0].shape[1])
    table = np.zeros(c.outputs[0].shape)
    inside = (index >= 0) & (index < len(table))
    np.add.at(table, index[inside], dy[inside])
    return [table]


def embedding_bwd_scale(c: Case) -> list[Array]:
    return embedding_bwd(c.replace([c.arrays[0], np.abs(c.arrays[1])]))


def philox(count: int, seed: int, offset: int) -> Array:
    """Returns word i of Philox4x32-10 with the counter (i / 4, offset) and the seed as key."""
    groups = np.arange(-(-count // 4), dtype=np.uint64)
    a, b = groups & LOW, groups >> HALF
    c, d = np.full_like(groups, offset & 0xFFFFFFFF), np.full_like(groups, offset >> 32)
    low, high = seed & 0xFFFFFFFF, seed >> 32
    for _ in range(10):
        left, right = np.uint64(0xD2511F53) * a, np.uint64(0xCD9E8D57) * c
        a, b = (right >> HALF) ^ b ^ np.uint64(low), right & LOW
        c, d = (left >> HALF) ^ d ^ np.uint64(high), left & LOW
        low, high = (low + 0x9E3779B9) & 0xFFFFFFFF, (high + 0xBB67AE85) & 0xFFFFFFFF
    return np.stack([a, b, c, d], axis=1).ravel()[:count]


def dropout(c: Case) -> list[Array]:
    x, key = c.arrays
    drop = math.floor(float(c.attrs["p"]) * 2.0**32 + 0.5)
    kept = philox(x.size, int(key[0]), int(key[1])).reshape(x.shape) >= np.uint64(drop)
    return [np.where(kept, x * (2.0**32 / (2.0**32 - drop) if drop < 2**32 else 0.0), 0.0)]


def cast(c: Case) -> list[Array]:
    x, to = c.arrays[0], c.outputs[0].dtype
    if to == "bool":
        return [x != 0]
    if "float" in to:
        return [x.astype(np.float64)]
    if x.dtype.kind != "f":
        return [x.astype(to)]
    limits = np.iinfo(to)
    inside = (x > float(limits.min)) & (x < float(limits.max))  # float() rounds the largest 32-bit and 64-bit integers up.
    y = np.where(inside, x, 0.0).astype(to)
    y[x <= float(limits.min)] = limits.min
    y[x >= float(limits.max)] = limits.max
    return [y]


def _moments(c: Case, g: Array, m: Array) -> tuple[Array, Array]:
    beta1, beta2 = c.number("beta1"), c.number("beta2")
    return beta1 * m + (1.0 - beta1) * g, beta2 * c.arrays[3] + (1.0 - beta2) * g**2


def adam_step(c: Case) -> list[Array]:
    p, g, m, _, scalars = c.arrays
    m, v = _moments(c, g, m)
    step = m * scalars[1] / (np.sqrt(v * scalars[2]) + c.number("eps"))
    return [p - scalars[0] * (step + c.number("decay") * p), m, v]


def adam_step_scale(c: Case) -> list[Array]:
    p, g, m, _, scalars = c.arrays
    m, v = _moments(c, np.abs(g), np.abs(m))
    step = m * scalars[1] / (np.sqrt(v * scalars[2]) + c.number("eps"))
    return [np.abs(p) + np.abs(scalars[0]) * (step + c.number("decay") * np.abs(p)), m, v]


def sgd_step(c: Case) -> list[Array]:
    p, g, velocity, rate = c.arrays
    velocity = c.number("momentum") * velocity + (g + c.number("decay") * p)
    return [p - rate * velocity, velocity]


def sgd_step_scale(c: Case) -> list[Array]:
    p, g, velocity, rate = c.arrays
    velocity = c.number("momentum") * np.abs(velocity) + np.abs(g) + c.number("decay") * np.abs(p)
    return [np.abs(p) + np.abs(rate) * velocity, velocity]
