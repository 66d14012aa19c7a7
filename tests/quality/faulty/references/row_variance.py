import numpy as np


def reference(x):
    return x.var(axis=1)


def error_scale(x):
    """The mean is off by what rounding it costs, and each deviation with it."""
    return x.var(axis=1) + x.std(axis=1) * np.abs(x).max(axis=1) * 2.0 ** -12 + np.abs(x).max(axis=1) ** 2 * 2.0 ** -24
