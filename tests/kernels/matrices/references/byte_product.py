"""Matrix product of integers."""
import numpy as np


def reference(a, b):
    return (a @ b).astype(np.int32)
