"""x times (x > 0), plus exp cut at 1."""
import numpy as np


def reference(x):
    x = np.asarray(x, np.float64)
    return x * (x > 0) + np.minimum(np.exp(x), 1.0)
