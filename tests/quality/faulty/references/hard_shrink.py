import numpy as np


def reference(x):
    return np.where((x > 0.5) | (x <= -0.5) | np.isnan(x), x, 0)
