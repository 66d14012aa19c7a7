import numpy as np


def reference(x):
    return np.expm1(x)
