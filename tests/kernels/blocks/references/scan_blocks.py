"""Running sums modulo 2^32."""
import numpy as np


def reference(x):
    return np.cumsum(x).astype(np.int32)
