import numpy as np


def reference(x, eps):
    return x / np.sqrt((x * x).mean(axis=1, keepdims=True) + eps)
