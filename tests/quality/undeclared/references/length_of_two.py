import numpy as np


def reference(a, b):
    return np.hypot(a, b)
