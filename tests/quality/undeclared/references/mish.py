import numpy as np


def reference(x):
    return x * np.tanh(np.logaddexp(0, x))
