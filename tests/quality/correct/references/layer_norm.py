import numpy as np


def reference(x, weight, bias, eps):
    scale = 1 / np.sqrt(x.var(axis=1, keepdims=True) + eps)
    return (x - x.mean(axis=1, keepdims=True)) * scale * weight + bias


def error_scale(x, weight, bias, eps):
    scale = 1 / np.sqrt(x.var(axis=1, keepdims=True) + eps)
    largest = np.abs(x).max(axis=1, keepdims=True) + 2.0 ** -125
    return (np.abs(x) + largest) * scale * (1 + largest * scale * 2.0 ** -20) * np.abs(weight) + np.abs(bias)
