import numpy as np


def reference(x):
    return np.where(np.tril(np.ones(x.shape, dtype=bool)), x, 0).sum(axis=1)
