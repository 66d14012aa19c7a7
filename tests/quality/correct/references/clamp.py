import numpy as np


def reference(x):
    return np.clip(x, -1, 1)
