import numpy as np


def reference(x):
    return x.reshape(-1, 32).sum(axis=1)


def error_scale(x):
    return reference(np.abs(x))
