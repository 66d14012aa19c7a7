"""One step of Adam with decoupled weight decay; scalars are the rate and both bias corrections."""
import numpy as np


def moments(g, m, v, beta1, beta2):
    return beta1 * m + (1.0 - beta1) * g, beta2 * v + (1.0 - beta2) * g**2


def reference(p, g, m, v, scalars, beta1, beta2, eps, decay):
    m, v = moments(g, m, v, beta1, beta2)
    step = m * scalars[1] / (np.sqrt(v * scalars[2]) + eps)
    return {"p": p - scalars[0] * (step + decay * p), "m": m, "v": v}


def error_scale(p, g, m, v, scalars, beta1, beta2, eps, decay):
    m, v = moments(np.abs(g), np.abs(m), v, beta1, beta2)
    step = m * scalars[1] / (np.sqrt(v * scalars[2]) + eps)
    return {"p": np.abs(p) + np.abs(scalars[0]) * (step + decay * np.abs(p)), "m": m, "v": v}
