import numpy as np

# As the kernel has them: 1 - 0.999f is not 0.001, which no test of accuracy would excuse.
BETA1, BETA2 = (float(np.float32(beta)) for beta in (0.9, 0.999))


def reference(p, g, m, v, rate, decay, step):
    m = BETA1 * m + (1 - BETA1) * g
    v = BETA2 * v + (1 - BETA2) * g * g
    first, second = m / (1 - BETA1**step), v / (1 - BETA2**step)
    return p - rate * (first / (np.sqrt(second) + 1e-8) + decay * p), m, v
