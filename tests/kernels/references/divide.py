"""Quotient toward zero and remainder."""
import numpy as np


def reference(a, b):
    d = np.where((b == 0) | (b == -1), 7, b)
    out = []
    for p, q in zip(a.tolist(), d.tolist()):
        quotient = abs(p) // abs(q)
        quotient = quotient if (p < 0) == (q < 0) else -quotient
        out.append([quotient, p - quotient * q])
    return np.array(out, np.int64).reshape(-1, 2)
