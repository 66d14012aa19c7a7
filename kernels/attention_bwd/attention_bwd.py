"""Gradients of y = softmax(scale q k^T) v; with `causal` query i sees the keys up to i."""
import numpy as np


def weights_of(q, k, scale):
    scores = scale * (k @ q)
    e = np.exp(scores - scores.max())
    return e / e.sum()


def over_queries(q, k, v, dy, causal, of, factor=np.asarray):
    """Sums over all queries what `of` gives for one of them and the keys that it sees, times `factor` of the inputs. Infinities and NaN
    among the other keys have no part in it."""
    dq, dk, dv = np.zeros(q.shape), np.zeros(k.shape), np.zeros(v.shape)
    for b in range(q.shape[0]):
        for i in range(q.shape[1]):
            seen = min(k.shape[1], i + 1) if causal else k.shape[1]
            if seen:
                p, ds = of(q[b, i], k[b, :seen], v[b, :seen], dy[b, i])
                dq[b, i] = ds @ factor(k[b, :seen])
                dk[b, :seen] += np.outer(ds, factor(q[b, i]))
                dv[b, :seen] += np.outer(p, factor(dy[b, i]))
    return {"dq": dq, "dk": dk, "dv": dv}


def reference(q, k, v, dy, causal, scale):
    def one(q, k, v, dy):
        p, up = weights_of(q, k, scale), v @ dy
        return p, scale * p * (up - p @ up)

    return over_queries(q, k, v, dy, causal, one)


def error_scale(q, k, v, dy, causal, scale):
    # The rounding of a score, magnified by exp.
    def one(q, k, v, dy):
        p = weights_of(q, k, scale) * (1.0 + abs(scale) * (np.abs(k) @ np.abs(q)).max())
        up = np.abs(v) @ np.abs(dy)
        return p, abs(scale) * p * (up + p @ up)

    return over_queries(q, k, v, dy, causal, one, factor=np.abs)
