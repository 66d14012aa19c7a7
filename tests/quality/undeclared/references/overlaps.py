import numpy as np


def reference(x, z, **kwargs):
    sides = np.minimum(x[:, :2] + x[:, 2:], z[:, :2] + z[:, 2:]) - np.maximum(x[:, :2], z[:, :2])
    both = np.maximum(sides, 0).prod(-1)
    either = x[:, 2:].prod(-1) + z[:, 2:].prod(-1) - both
    return np.where(either > 0, both / np.where(either > 0, either, 1), 0)
