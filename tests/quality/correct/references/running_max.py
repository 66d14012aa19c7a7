import numpy as np


def reference(x):
    return np.maximum.accumulate(x, axis=1)
