import numpy as np


def reference(x):
    blocks = np.zeros(-(-x.size // 128) * 128)
    blocks[:x.size] = x
    return blocks.reshape(-1, 128).sum(axis=1)


def error_scale(x):
    return reference(np.abs(x))
