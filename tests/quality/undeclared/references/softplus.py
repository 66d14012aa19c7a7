import numpy as np


def reference(x):
    return np.logaddexp(0, x)
