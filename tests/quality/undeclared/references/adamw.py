import numpy as np

BETA1, BETA2 = 0.9, 0.999


def reference(p, g, m, v, rate, decay, step):
    m = BETA1 * m + (1 - BETA1) * g
    v = BETA2 * v + (1 - BETA2) * g * g
    first, second = m / (1 - BETA1**step), v / (1 - BETA2**step)
    return p - rate * (first / (np.sqrt(second) + 1e-8) + decay * p), m, v
