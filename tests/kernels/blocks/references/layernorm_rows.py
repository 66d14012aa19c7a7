"""Rows of mean 0 and variance 1, weighted; and their means."""
import numpy as np


def reference(x, weight):
    mean = x.mean(axis=1, keepdims=True)
    return (x - mean) / np.sqrt(((x - mean) ** 2).mean(axis=1, keepdims=True) + 1e-5) * weight, mean[:, 0]


def error_scale(x, weight):
    sigma = np.sqrt(x.var(axis=1, keepdims=True) + 1e-5)
    size = np.abs(x).max(axis=1, keepdims=True)
    return (np.abs(x) + size) / sigma * np.abs(weight), size[:, 0]
