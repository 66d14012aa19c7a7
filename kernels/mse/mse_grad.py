"""dx = 2 (x - target) / n."""
import numpy as np


def reference(x, target):
    return 2.0 * (x - target) / x.size


def error_scale(x, target):
    return np.abs(reference(x, target))
