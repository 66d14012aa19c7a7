import numpy as np


def reference(x):
    return x + x[:1]


def error_scale(x):
    return np.abs(x) + np.abs(x[:1])
