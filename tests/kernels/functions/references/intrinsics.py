"""What the special function unit approximates."""
import numpy as np


def reference(x):
    return np.exp(x), np.log(x), np.sin(x), np.cos(x), np.tanh(x), 1 / x
