import numpy as np


def reference(x, z, **kwargs):
    # As in the kernel, the other operand of a NaN counts.
    sides = np.fmin(x[:, :2] + x[:, 2:], z[:, :2] + z[:, 2:]) - np.fmax(x[:, :2], z[:, :2])
    both = np.fmax(sides, 0).prod(-1)
    either = x[:, 2:].prod(-1) + z[:, 2:].prod(-1) - both
    return np.where(either > 0, both / np.where(either > 0, either, 1), 0)
