"""Computes convolutions and poolings of images, with NumPy in float64, and bounds for their errors."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from gpuemu.program.ops.references import Case
from gpuemu.tensors import Array


def _steps(c: Case) -> tuple[int, int, int, int]:
    """Returns strides down and across, padding at the top and left. A pooling has no padding; stride 0 means the size of its
    kernel."""
    down, across = (int(c.attrs["stride_" + axis]) or int(c.attrs["kernel_" + axis]) for axis in ("rows", "columns"))
    return down, across, int(c.attrs.get("pad_rows", 0)), int(c.attrs.get("pad_columns", 0))


def _seen(c: Case, kernel: tuple[int, ...], windows: tuple[int, ...]) -> Iterator[tuple[int, int, slice, slice]]:
    """Yields for each element of the kernel its row and column, and the rows and columns of the padded image that all windows
    read there."""
    down, across, _, _ = _steps(c)
    for r in range(kernel[0]):
        for t in range(kernel[1]):
            yield r, t, slice(r, r + windows[0] * down, down), slice(t, t + windows[1] * across, across)


def _padded(c: Case, x: Array) -> Array:
    _, _, rows, columns = _steps(c)
    return np.pad(x, ((0, 0), (0, 0), (rows, rows), (columns, columns)))


def conv2d(c: Case) -> list[Array]:
    x, w = _padded(c, c.arrays[0]), c.arrays[1]
    y = np.zeros(c.outputs[0].shape)
    for r, t, rows, columns in _seen(c, w.shape[2:], y.shape[2:]):
        y += np.einsum("ncpq,oc->nopq", x[:, :, rows, columns][:, :, : y.shape[2], : y.shape[3]], w[:, :, r, t])
    return [y]


def conv2d_bwd_x(c: Case) -> list[Array]:
    w, dy = c.arrays
    down, across, top, left = _steps(c)
    rows, columns = c.outputs[0].shape[2:]
    # The last window may end before the padded image does.
    size = [max(whole + 2 * pad, (count - 1) * step + taps) for whole, pad, count, step, taps in
            zip((rows, columns), (top, left), dy.shape[2:], (down, across), w.shape[2:])]  # fmt: skip
    wide = np.zeros((*c.outputs[0].shape[:2], *size))
    for r, t, seen_rows, seen_columns in _seen(c, w.shape[2:], dy.shape[2:]):
        wide[:, :, seen_rows, seen_columns][:, :, : dy.shape[2], : dy.shape[3]] += np.einsum("nopq,oc->ncpq", dy, w[:, :, r, t])
    return [wide[:, :, top : top + rows, left : left + columns]]


def conv2d_bwd_w(c: Case) -> list[Array]:
    x, dy = _padded(c, c.arrays[0]), c.arrays[1]
    dw = np.zeros(c.outputs[0].shape)
    for r, t, rows, columns in _seen(c, dw.shape[2:], dy.shape[2:]):
        dw[:, :, r, t] = np.einsum("nopq,ncpq->oc", dy, x[:, :, rows, columns][:, :, : dy.shape[2], : dy.shape[3]])
    return [dw]


def _kernel(c: Case) -> tuple[int, int]:
    return int(c.attrs["kernel_rows"]), int(c.attrs["kernel_columns"])


def _windows(c: Case, x: Array, windows: tuple[int, ...]) -> Array:
    """Returns an array (taps, images, channels, windows down, windows across)."""
    return np.stack([x[:, :, rows, columns][:, :, : windows[0], : windows[1]] for _, _, rows, columns in _seen(c, _kernel(c), windows)])


def max_pool2d(c: Case) -> list[Array]:
    return [_windows(c, c.arrays[0], c.outputs[0].shape[2:]).max(axis=0)]


def avg_pool2d(c: Case) -> list[Array]:
    return [_windows(c, c.arrays[0], c.outputs[0].shape[2:]).mean(axis=0)]


def max_pool2d_bwd(c: Case) -> list[Array]:
    x, dy = c.arrays
    first = _windows(c, x, dy.shape[2:]).argmax(axis=0)
    dx = np.zeros(x.shape)
    for tap, (_, _, rows, columns) in enumerate(_seen(c, _kernel(c), dy.shape[2:])):
        dx[:, :, rows, columns][:, :, : dy.shape[2], : dy.shape[3]] += np.where(first == tap, dy, 0.0)
    return [dx]


def max_pool2d_bwd_scale(c: Case) -> list[Array]:
    return max_pool2d_bwd(c.replace([c.arrays[0], np.abs(c.arrays[1])]))


def avg_pool2d_bwd(c: Case) -> list[Array]:
    dy, (high, wide) = c.arrays[0], _kernel(c)
    dx = np.zeros(c.outputs[0].shape)
    for _, _, rows, columns in _seen(c, (high, wide), dy.shape[2:]):
        dx[:, :, rows, columns][:, :, : dy.shape[2], : dy.shape[3]] += dy
    return [dx / (high * wide)]
