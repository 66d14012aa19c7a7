import numpy as np


def reference(x, **kwargs):
    return x / np.sqrt((x * x).sum(-1, keepdims=True))
