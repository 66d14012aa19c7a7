"""dx = dy * s * (1 + x (1 - s)) with s = sigmoid(x)."""
import numpy as np


def parts(x):
    e = np.exp(-np.abs(x))
    s, rest = np.where(x < 0, e, 1.0) / (1.0 + e), np.where(x < 0, 1.0, e) / (1.0 + e)
    with np.errstate(invalid="ignore"):
        return s, np.where(e == 0, 0.0, x) * rest


def reference(x, dy):
    s, moved = parts(x)
    return dy * (s * (1.0 + moved))


def error_scale(x, dy):
    s, moved = parts(x)
    return np.abs(dy) * s * (1.0 + np.abs(moved)) * (1.0 + np.where(np.isfinite(x), np.abs(x), 0.0))
