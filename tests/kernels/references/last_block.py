"""Five blocks came, and their sum."""
import numpy as np


def reference(a):
    return np.array([5, (a & 1023).sum()], np.int32)
