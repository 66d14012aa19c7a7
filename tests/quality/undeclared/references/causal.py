import numpy as np


def reference(q, k, v):
    s = q @ k.T / np.sqrt(q.shape[1])
    s[np.triu_indices(len(q), 1)] = -np.inf
    p = np.exp(s - s.max(axis=1, keepdims=True))
    return p @ v / p.sum(axis=1, keepdims=True)
