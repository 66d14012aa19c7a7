import numpy as np

RATE, EPS = float(np.float32(0.01)), float(np.float32(1e-8))


def reference(g, m, v, w):
    m, v = 0.875 * m + 0.125 * g, 0.96875 * v + 0.03125 * g * g
    return m, v, w - RATE * m / (np.sqrt(v) + EPS)


def error_scale(g, m, v, w):
    m, v = 0.875 * np.abs(m) + 0.125 * np.abs(g), 0.96875 * v + 0.03125 * g * g
    return m, v, np.abs(w) + RATE * m / (np.sqrt(v) + EPS)
