import numpy as np


def reference(x):
    return np.array([x.sum()])
