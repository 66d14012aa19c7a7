import numpy as np


def reference(x):
    return np.bincount(x.astype("int64") >> 2, minlength=64)
