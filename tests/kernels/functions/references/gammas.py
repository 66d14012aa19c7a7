"""The gamma function and its logarithm."""
import math

import numpy as np


def reference(x):
    return np.vectorize(math.gamma, otypes=[float])(x), np.vectorize(math.lgamma, otypes=[float])(x)
