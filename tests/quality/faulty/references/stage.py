import numpy as np


def reference(x):
    return np.where(x >= 1000, 2, np.where(x < 0, 1, 0))
