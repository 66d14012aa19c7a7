import numpy as np


def reference(y, dy):
    return dy - np.exp(y) * dy.sum(axis=1, keepdims=True)
