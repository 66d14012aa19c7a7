import numpy as np


def reference(x):
    return np.where(x < 0, 0.01 * x, x)
