import numpy as np


def reference(x, by):
    return np.where(by > 31, 0, (x.astype("uint64") << by.astype("uint64")) & 0xffffffff)
