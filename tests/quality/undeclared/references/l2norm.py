import numpy as np


def reference(x):
    return x / np.maximum(np.sqrt((x * x).sum(axis=1, keepdims=True)), 1e-12)
