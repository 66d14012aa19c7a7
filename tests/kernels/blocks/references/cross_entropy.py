"""Minus the logarithm of the softmax at the answer."""
import numpy as np


def reference(x, answers):
    most = x.max(axis=1)
    total = np.log(np.exp(x - most[:, None]).sum(axis=1)) + most
    return total - x[np.arange(len(x)), (answers & 0xFFFFFFFF) % x.shape[1]]
