"""The gamma function and its logarithm, for positive numbers."""
import math

import numpy as np


def of(function, x):
    return np.array([function(v) if v > 0 else math.nan for v in x])


def reference(x):
    return of(math.gamma, x), of(math.lgamma, x)
