"""loss = mean((x - target)^2)."""
import numpy as np


def reference(x, target):
    return np.mean((x - target) ** 2)


def error_scale(x, target):
    return reference(x, target)
