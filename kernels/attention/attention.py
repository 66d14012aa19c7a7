"""y = softmax(scale q k^T) v; with `causal` query i sees the keys up to i. 0 without keys."""
import numpy as np


def over_keys(q, k, v, causal, of):
    """of(q, k, v) for each query, of the keys that it sees."""
    y = np.zeros((*q.shape[:2], v.shape[2]))
    for b in range(q.shape[0]):
        for i in range(q.shape[1]):
            seen = min(k.shape[1], i + 1) if causal else k.shape[1]
            if seen:
                y[b, i] = of(q[b, i], k[b, :seen], v[b, :seen])
    return y


def weights(q, k, scale):
    scores = scale * (k @ q)
    e = np.exp(scores - scores.max())
    return e / e.sum()


def reference(q, k, v, causal, scale):
    return over_keys(q, k, v, causal, lambda q, k, v: weights(q, k, scale) @ v)


def error_scale(q, k, v, causal, scale):
    # The rounding of a score, magnified by exp.
    def one(q, k, v):
        return (weights(q, k, scale) @ np.abs(v)) * (1.0 + np.abs(scale) * (np.abs(k) @ np.abs(q)).max())

    return over_keys(q, k, v, causal, one)
