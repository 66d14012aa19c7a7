import numpy as np


def reference(x):
    return x + np.concatenate([[0.0], x[:-1]])


def error_scale(x):
    return reference(np.abs(x))
