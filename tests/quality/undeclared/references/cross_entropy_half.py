import numpy as np


def reference(x, target):
    most = x.max(axis=1)
    return np.log(np.exp(x - most[:, None]).sum(axis=1)) + most - x[np.arange(len(x)), target % x.shape[1]]
