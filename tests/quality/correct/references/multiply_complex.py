import numpy as np


def reference(a, b):
    return np.stack([a[:, 0] * b[:, 0] - a[:, 1] * b[:, 1], a[:, 0] * b[:, 1] + a[:, 1] * b[:, 0]], axis=1)


def error_scale(a, b):
    p = np.abs(a)[:, :, None] * np.abs(b)[:, None, :]
    return np.stack([p[:, 0, 0] + p[:, 1, 1], p[:, 0, 1] + p[:, 1, 0]], axis=1)
