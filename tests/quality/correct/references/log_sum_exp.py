import numpy as np


def reference(x):
    most = x.max(axis=1)
    return most + np.log(np.exp(x - most[:, None]).sum(axis=1))


def error_scale(x):
    return np.abs(x).max(axis=1) + 1
