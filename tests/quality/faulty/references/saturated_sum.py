import numpy as np


def reference(a, b):
    return np.clip(a + b, -2 ** 31, 2 ** 31 - 1)
