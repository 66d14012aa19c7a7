import numpy as np


def reference(x):
    return np.cumsum(np.pad(x, (0, -len(x) % 64)).reshape(-1, 64).sum(-1))
