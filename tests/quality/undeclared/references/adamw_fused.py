import numpy as np


def reference(p, g, m, v, rate):
    m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
    return p - rate * (m / 0.1 / (np.sqrt(v / 0.001) + 1e-8) + 0.01 * p), m, v
