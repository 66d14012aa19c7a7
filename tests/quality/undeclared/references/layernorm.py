import numpy as np


def reference(x, w, b):
    mean, scale = x.mean(axis=1), 1 / np.sqrt(x.var(axis=1) + 1e-5)
    return (x - mean[:, None]) * scale[:, None] * w + b, mean, scale
