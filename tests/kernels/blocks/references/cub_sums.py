"""Sums of what is before, and of all."""
import numpy as np


def reference(x):
    return np.cumsum(np.pad(x, ((0, 0), (1, 0)))[:, :-1], axis=1), x.sum(axis=1)


def error_scale(x):
    return reference(np.abs(x))
