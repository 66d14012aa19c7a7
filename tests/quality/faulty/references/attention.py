import numpy as np


def weights(q, k, causal):
    scores = q @ k.T / np.sqrt(q.shape[1])
    if causal:
        rows, columns = np.indices(scores.shape)
        scores = np.where(columns <= rows, scores, -np.inf)
    e = np.exp(scores - scores.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def reference(q, k, v):
    return weights(q, k, False) @ v


def error_scale(q, k, v):
    """An error of a score is one of its weight's exponent."""
    largest = (np.abs(q) @ np.abs(k).T).max(axis=1, keepdims=True) / np.sqrt(q.shape[1])
    return (weights(q, k, False) @ np.abs(v)) * (1 + largest)
