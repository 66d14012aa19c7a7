import numpy as np


def reference(x):
    padded = np.concatenate([[0.0], x, [0.0]])
    return (padded[:-2] + padded[1:-1] + padded[2:]) / 3


def error_scale(x):
    return reference(np.abs(x))
