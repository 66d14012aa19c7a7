import numpy as np


def reference(x, angle):
    a, b = x[0::2], x[1::2]
    return np.stack([a * np.cos(angle) - b * np.sin(angle), a * np.sin(angle) + b * np.cos(angle)], axis=1).reshape(-1)


def error_scale(x, angle):
    return np.repeat(np.abs(x[0::2]) + np.abs(x[1::2]), 2)
