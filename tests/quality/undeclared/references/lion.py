import numpy as np


def reference(p, g, m, rate, decay):
    return p * (1 - rate * decay) - rate * np.sign(0.9 * m + 0.1 * g), 0.99 * m + 0.01 * g
