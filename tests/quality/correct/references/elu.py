import numpy as np


def reference(x):
    return np.where(x > 0, x, np.expm1(x))
