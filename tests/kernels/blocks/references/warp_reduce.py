"""Sums, and the least and the union of integers."""
import numpy as np


def reference(x, k):
    union = np.bitwise_or.reduce(k, axis=1)
    return x.sum(axis=1), np.stack([k.min(axis=1), union], axis=1).astype(np.int32)


def error_scale(x, k):
    return np.abs(x).sum(axis=1), np.ones((len(x), 2))
