"""Sorted by key, values moved along; a sort that keeps the order of equal keys."""
import numpy as np

RAW = True


def reference(keys, values):
    bits = (keys + np.float32(0)).view(np.uint32)
    order = np.argsort(np.where(bits >> 31, ~bits, bits ^ np.uint32(0x80000000)), axis=1, kind="stable")
    return np.take_along_axis(keys, order, axis=1).astype(np.float64), np.take_along_axis(values, order, axis=1)
