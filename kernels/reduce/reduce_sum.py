"""Sums along axis 1."""
import numpy as np


def reference(x):
    return x.sum(axis=1)


def error_scale(x):
    return np.abs(x).sum(axis=1)
