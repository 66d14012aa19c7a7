import numpy as np


def reference(q, k, v):
    scores = q @ k.T / 4
    p = np.exp(scores - scores.max(axis=1, keepdims=True))
    return p @ v / p.sum(axis=1, keepdims=True)
