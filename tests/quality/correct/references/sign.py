import numpy as np


def reference(x):
    return np.sign(x)
