import numpy as np


def reference(x):
    rows, width = x.shape
    angle = np.arange(rows)[:, None] * 10000.0 ** (-2 * np.arange(width // 2) / width)
    a, b = x[:, : width // 2], x[:, width // 2 :]
    return np.concatenate([a * np.cos(angle) - b * np.sin(angle), a * np.sin(angle) + b * np.cos(angle)], axis=1)
