"""Which elements of an image the windows of a convolution or a pooling see, as index tables."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gpuemu.tensors import Array


class Windows(NamedTuple):
    """The windows on one image. Sizes as (rows, columns)."""

    channels: int
    image: tuple[int, int]
    kernel: tuple[int, int]
    stride: tuple[int, int]
    padding: tuple[int, int]

    @property
    def outputs(self) -> tuple[int, int]:
        """How many windows there are down and across; 0 or less where the kernel is larger than the image."""
        rows, columns = ((size + 2 * pad - kernel) // step + 1 for size, pad, kernel, step in zip(self.image, self.padding, self.kernel, self.stride))
        return rows, columns

    @property
    def places(self) -> int:
        """Windows of one channel."""
        return self.outputs[0] * self.outputs[1]

    @property
    def taps(self) -> int:
        """Elements of one window of one channel."""
        return self.kernel[0] * self.kernel[1]

    def elements(self) -> Array:
        """(channels, places, taps): the flat element of the image of each; -1 in the padding."""
        rows, columns = self.outputs
        down = (np.arange(rows) * self.stride[0] - self.padding[0])[:, None, None, None] + np.arange(self.kernel[0])[None, None, :, None]
        across = (np.arange(columns) * self.stride[1] - self.padding[1])[None, :, None, None] + np.arange(self.kernel[1])[None, None, None, :]
        inside = (down >= 0) & (down < self.image[0]) & (across >= 0) & (across < self.image[1])
        flat = np.where(inside, down * self.image[1] + across, -1).reshape(1, self.places, self.taps)
        first = np.arange(self.channels).reshape(-1, 1, 1) * (self.image[0] * self.image[1])
        return np.where(flat < 0, -1, flat + first)


def inverse(table: Array, elements: int) -> Array:
    """(elements, most): for each element the flat places of the table that name it, filled up with -1."""
    flat = table.reshape(-1)
    order = np.argsort(flat, kind="stable")
    order = order[flat[order] >= 0]
    counts = np.bincount(flat[order], minlength=elements)
    made = np.full((elements, max(1, int(counts.max(initial=0)))), -1)
    first = np.concatenate([[0], np.cumsum(counts)[:-1]])
    made[flat[order], np.arange(len(order)) - first[flat[order]]] = order
    return made
