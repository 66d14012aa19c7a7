import numpy as np


def reference(x):
    return 2 * np.maximum(x, 0)
