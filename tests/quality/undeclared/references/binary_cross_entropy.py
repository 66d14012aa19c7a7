import numpy as np


def reference(x, target):
    return np.maximum(x, 0) - x * target + np.log1p(np.exp(-np.abs(x)))
