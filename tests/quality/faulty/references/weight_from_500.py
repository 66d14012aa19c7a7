import numpy as np


def reference(x, label):
    return np.where(label >= 500, 2 * x, x)
