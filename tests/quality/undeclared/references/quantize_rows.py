import numpy as np


def reference(x):
    scale = np.maximum(np.abs(x).max(axis=1), 1e-5) / 127
    return np.rint(x / scale[:, None]), scale
