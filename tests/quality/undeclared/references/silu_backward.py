import numpy as np


def reference(x, dy):
    s = 1 / (1 + np.exp(-x))
    return dy * s * (1 + x * (1 - s))
