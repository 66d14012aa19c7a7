import numpy as np


def reference(x):
    return np.tanh(x)
