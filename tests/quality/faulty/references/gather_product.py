import numpy as np


def reference(x, factor):
    return x[np.arange(x.size, dtype="int64") * factor % x.size]
