import numpy as np


def reference(x, target):
    return np.where(target > 0, target * (np.log(np.where(target > 0, target, 1)) - x), 0).sum(axis=1)
