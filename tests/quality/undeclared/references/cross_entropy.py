import numpy as np


def reference(x, target):
    rows = np.arange(len(x))
    wanted = target % x.shape[1]
    most = x.max(axis=1)
    e = np.exp(x - most[:, None])
    loss = np.log(e.sum(axis=1)) + most - x[rows, wanted]
    dx = e / e.sum(axis=1, keepdims=True)
    dx[rows, wanted] -= 1
    return loss, dx
