import numpy as np


def reference(x):
    return np.concatenate([np.zeros((len(x), 1)), np.cumsum(x, axis=1)[:, :-1]], axis=1)
