import numpy as np


def reference(x):
    return 1 / (1 + np.exp(-x))
