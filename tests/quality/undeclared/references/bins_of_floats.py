import numpy as np


def reference(x, bins):
    x = x[(x >= -3.5) & (x < 3.5)]
    return np.bincount(np.minimum(((x + 3.5) / 7 * bins).astype(int), bins - 1), minlength=bins)
