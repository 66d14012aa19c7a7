"""Reciprocals and roots."""
import numpy as np


def reference(x):
    return 1 / x, np.sqrt(x), 1 / np.sqrt(x), x**1.75
