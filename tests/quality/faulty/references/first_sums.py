import numpy as np


def reference(x, window):
    return x[:, :window].sum(axis=1)


def error_scale(x, window):
    return np.abs(x[:, :window]).sum(axis=1)
