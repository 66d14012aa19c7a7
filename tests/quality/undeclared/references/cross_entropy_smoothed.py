import numpy as np


def reference(x, label):
    shifted = x - x.max(axis=1, keepdims=True)
    logs = shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))
    return -0.9 * logs[np.arange(len(x)), label] - 0.1 * logs.mean(axis=1)
