"""The lock is free and everything was added."""
import numpy as np


def reference(a):
    return np.array([0, (a & 255).sum()], np.int32)
