import numpy as np

from attention import weights


def mixed(w, v):
    """Keys that a query does not see take no part, whatever they hold."""
    seen = np.tri(*w.shape, dtype=bool)
    return np.stack([w[i][seen[i]] @ v[seen[i]] for i in range(len(w))])


def reference(q, k, v):
    return mixed(weights(q, k, True), v)


def error_scale(q, k, v):
    largest = (np.abs(q) @ np.abs(k).T).max(axis=1, keepdims=True) / np.sqrt(q.shape[1])
    return mixed(weights(q, k, True), np.abs(v)) * (1 + largest)
