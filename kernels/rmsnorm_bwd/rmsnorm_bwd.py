"""Gradients of rmsnorm: dx of each row, dweight summed over the rows."""
import numpy as np


def parts(x, weight, dy, eps):
    r = 1.0 / np.sqrt((x * x).mean(axis=1, keepdims=True) + eps)
    return r, dy * weight


def reference(x, weight, dy, eps):
    r, g = parts(x, weight, dy, eps)
    dx = r * (g - x * r * r * (g * x).mean(axis=1, keepdims=True))
    return {"dx": dx, "dweight": (dy * x * r).sum(axis=0)}


def error_scale(x, weight, dy, eps):
    r, g = parts(x, weight, dy, eps)
    dx = r * (np.abs(g) + np.abs(x) * r * r * np.abs(g * x).mean(axis=1, keepdims=True))
    return {"dx": dx, "dweight": np.abs(dy * x * r).sum(axis=0)}
