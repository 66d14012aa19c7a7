import numpy as np


def reference(x, index):
    y = np.zeros(16, "int64")
    np.add.at(y, index, x)
    return y
