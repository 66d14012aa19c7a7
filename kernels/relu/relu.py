"""relu(x) = x above 0, else 0; NaN stays NaN."""
import numpy as np


def reference(x):
    return np.where(x <= 0, 0.0, x)


def error_scale(x):
    return np.zeros(x.shape)
