"""Sums with the next element, three times over."""
import numpy as np


def reference(x):
    a = x & 255
    for _ in range(3):
        a = a + np.roll(a, -1)
    return a
