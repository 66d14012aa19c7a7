import numpy as np


def reference(g, m, w, rate):
    moved = 0.5 * m + g
    return moved, w - rate * moved


def error_scale(g, m, w, rate):
    moved = 0.5 * np.abs(m) + np.abs(g)
    return moved, np.abs(w) + rate * moved
