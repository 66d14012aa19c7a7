"""Gradients of y = softmax(scale q k^T) v; with `causal` query i sees the keys up to i."""
import numpy as np


def weights(q, k, causal, scale):
    scores = scale * (q @ k.T)
    if causal:
        scores = np.where(np.tri(*scores.shape, dtype=bool), scores, -np.inf)
    e = np.exp(scores - scores.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def over_batch(q, k, v, dy, of):
    made = {"dq": np.zeros(q.shape), "dk": np.zeros(k.shape), "dv": np.zeros(v.shape)}
    for b in range(q.shape[0]):
        if k.shape[1]:
            made["dq"][b], made["dk"][b], made["dv"][b] = of(q[b], k[b], v[b], dy[b])
    return made


def reference(q, k, v, dy, causal, scale):
    def one(q, k, v, dy):
        p = weights(q, k, causal, scale)
        up = dy @ v.T
        ds = scale * p * (up - (p * up).sum(axis=1, keepdims=True))
        return ds @ k, ds.T @ q, p.T @ dy

    return over_batch(q, k, v, dy, one)


def error_scale(q, k, v, dy, causal, scale):
    # The rounding of a score, magnified by exp.
    def one(q, k, v, dy):
        sizes = abs(scale) * (np.abs(q) @ np.abs(k).T)
        if causal:
            sizes = np.where(np.tri(*sizes.shape, dtype=bool), sizes, 0.0)
        p = weights(q, k, causal, scale) * (1.0 + sizes.max(axis=1, keepdims=True))
        up = np.abs(dy) @ np.abs(v).T
        ds = abs(scale) * p * (up + (p * up).sum(axis=1, keepdims=True))
        return ds @ np.abs(k), ds.T @ np.abs(q), p.T @ np.abs(dy)

    return over_batch(q, k, v, dy, one)
