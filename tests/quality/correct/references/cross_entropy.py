import numpy as np


def reference(x, label):
    most = x.max(axis=1)
    logs = most + np.log(np.exp(x - most[:, None]).sum(axis=1))
    return logs - x[np.arange(len(x)), label]


def error_scale(x, label):
    return np.abs(x).max(axis=1) + 1
