"""Sums of eight neighbours; the rank among the positive of a warp, and how many there are."""
import numpy as np


def reference(x):
    padded = np.concatenate([x, np.zeros(-len(x) % 64)])
    sums = np.repeat(padded.reshape(-1, 8).sum(axis=1), 8)
    positive = padded.reshape(-1, 32) > 0
    ranks = (np.cumsum(positive, axis=1) - 1) * 100 + positive.sum(axis=1, keepdims=True)
    return sums[:len(x)], np.where(positive, ranks, -1).reshape(-1)[:len(x)].astype(np.int32)


def error_scale(x):
    return reference(np.abs(x))[0], np.ones(len(x))
