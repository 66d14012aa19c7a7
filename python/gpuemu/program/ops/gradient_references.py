"""Computes the gradients of activations, norms, attention and gathers, with NumPy in float64, and bounds for their errors."""

from __future__ import annotations

import math

import numpy as np

import gpuemu.program.ops.references as of
from gpuemu.program.ops.references import Case
from gpuemu.tensors import Array


def _finite(x: Array) -> Array:
    return np.asarray(np.where(np.isfinite(x), np.abs(x), 0.0))


def _gelu_slope(x: Array) -> tuple[Array, Array]:
    """Returns the two terms of the slope: the normal distribution function, and x times its density."""
    density = np.exp(-0.5 * x * x) / math.sqrt(2.0 * math.pi)
    return 0.5 * of.erfc(-x / math.sqrt(2.0)), np.where(density == 0, 0.0, x) * density


def gelu_bwd(c: Case) -> list[Array]:
    share, moved = _gelu_slope(c.arrays[0])
    return [c.arrays[1] * (share + moved)]


def gelu_bwd_scale(c: Case) -> list[Array]:
    share, moved = _gelu_slope(c.arrays[0])
    return [np.abs(c.arrays[1]) * (share + np.abs(moved)) * (1.0 + _finite(c.arrays[0]) ** 2)]


def _silu_slope(x: Array) -> tuple[Array, Array]:
    """Returns sigmoid(x) and x sigmoid(-x)."""
    e = np.exp(-np.abs(x))
    share, rest = np.where(x < 0, e, 1.0) / (1.0 + e), np.where(x < 0, 1.0, e) / (1.0 + e)
    return share, np.where(e == 0, 0.0, x) * rest


def silu_bwd(c: Case) -> list[Array]:
    share, moved = _silu_slope(c.arrays[0])
    return [c.arrays[1] * (share * (1.0 + moved))]


def silu_bwd_scale(c: Case) -> list[Array]:
    share, moved = _silu_slope(c.arrays[0])
    return [np.abs(c.arrays[1]) * share * (1.0 + np.abs(moved)) * (1.0 + _finite(c.arrays[0]))]


def sigmoid_bwd(c: Case) -> list[Array]:
    y, dy = c.arrays
    return [dy * y * (1.0 - y)]


def sigmoid_bwd_scale(c: Case) -> list[Array]:
    y, dy = c.arrays
    return [np.abs(dy * y) * (1.0 + np.abs(y))]


def tanh_bwd(c: Case) -> list[Array]:
    y, dy = c.arrays
    return [dy * (1.0 - y * y)]


def tanh_bwd_scale(c: Case) -> list[Array]:
    y, dy = c.arrays
    return [np.abs(dy) * (1.0 + y * y)]


def softmax_bwd(c: Case) -> list[Array]:
    y, dy = c.arrays
    return [y * (dy - (y * dy).sum(axis=-1, keepdims=True))]


def softmax_bwd_scale(c: Case) -> list[Array]:
    y, dy = c.arrays
    return [np.abs(y) * (np.abs(dy) + np.abs(y * dy).sum(axis=-1, keepdims=True))]


def _rms(c: Case) -> tuple[Array, Array, tuple[int, ...]]:
    """Returns 1 / the root mean square of each row, dy times the weight, and the axes of the rows."""
    x, weight, dy = c.arrays
    return 1.0 / np.sqrt((x * x).mean(axis=-1, keepdims=True) + float(c.attrs["eps"])), dy * weight, tuple(range(x.ndim - 1))


def rmsnorm_bwd(c: Case) -> list[Array]:
    x, _, dy = c.arrays
    r, g, rows = _rms(c)
    return [r * (g - x * r * r * (g * x).mean(axis=-1, keepdims=True)), (dy * x * r).sum(axis=rows)]


def rmsnorm_bwd_scale(c: Case) -> list[Array]:
    x, _, dy = c.arrays
    r, g, rows = _rms(c)
    return [r * (np.abs(g) + np.abs(x) * r * r * np.abs(g * x).mean(axis=-1, keepdims=True)), np.abs(dy * x * r).sum(axis=rows)]


def reduce_max_bwd(c: Case) -> list[Array]:
    x, dy = c.arrays
    axis = int(c.attrs["axis"]) % x.ndim
    kept = (*x.shape[:axis], 1, *x.shape[axis + 1 :])
    dx = np.zeros(x.shape)
    if x.shape[axis]:
        np.put_along_axis(dx, x.argmax(axis=axis).reshape(kept), dy.reshape(kept), axis)
    return [dx]


def gather_bwd(c: Case) -> list[Array]:
    index, dy = c.arrays[0].reshape(-1), c.arrays[1]
    shape = c.outputs[0].shape
    axis = int(c.attrs["axis"]) % len(shape)
    up = dy.reshape(math.prod(shape[:axis]), len(index), math.prod(shape[axis + 1 :]))
    dx = np.zeros((up.shape[0], shape[axis], up.shape[2]))
    inside = (index >= 0) & (index < shape[axis])
    np.add.at(dx.swapaxes(0, 1), index[inside], up[:, inside].swapaxes(0, 1))
    return [dx.reshape(shape)]


def gather_bwd_scale(c: Case) -> list[Array]:
    return gather_bwd(c.replace([c.arrays[0], np.abs(c.arrays[1])]))


def _turned(x: Array) -> Array:
    return np.swapaxes(x, -1, -2)


def attention_bwd(c: Case) -> list[Array]:
    q, k, v, dy = c.arrays
    weights, scale = of.weights_of(c)[0], of.score_scale(c)
    up = dy @ _turned(v)
    change = scale * weights * (up - (weights * up).sum(axis=-1, keepdims=True))
    return [change @ k, _turned(change) @ q, _turned(weights) @ dy]


def attention_bwd_scale(c: Case) -> list[Array]:
    q, k, v, dy = (np.abs(one) for one in c.arrays)
    weights, sizes = of.weights_of(c)
    weights = weights * (1.0 + sizes.max(axis=-1, keepdims=True, initial=0.0))  # The rounding error of a score, magnified by exp.
    up = dy @ _turned(v)
    change = abs(of.score_scale(c)) * weights * (up + (weights * up).sum(axis=-1, keepdims=True))
    return [change @ k, _turned(change) @ q, _turned(weights) @ dy]


def fill(c: Case) -> list[Array]:
    value = float(c.attrs["value"])
    return [np.full(c.outputs[0].shape, value if "float" in c.outputs[0].dtype else int(value))]
