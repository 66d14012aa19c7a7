"""Pairs turned by an angle."""
import numpy as np


def reference(x):
    rows, pairs = x.shape[:2]
    angle = np.arange(rows)[:, None] * 10000.0 ** (-np.arange(pairs) / pairs)
    s, c = np.sin(angle), np.cos(angle)
    return np.stack([x[..., 0] * c - x[..., 1] * s, x[..., 0] * s + x[..., 1] * c], axis=-1)
