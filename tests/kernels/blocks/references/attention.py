"""Softmax of scaled scores, times the values."""
import numpy as np


def reference(q, k, v):
    scores = q @ k.T / np.sqrt(32)
    e = np.exp(scores - scores.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True) @ v
