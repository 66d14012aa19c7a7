import numpy as np


def reference(x, w, b):
    padded = np.pad(x, ((0, 0), (3, 0)))
    y = b[:, None] + sum(w[:, tap, None] * padded[:, tap : tap + x.shape[1]] for tap in range(4))
    return y / (1 + np.exp(-y))
