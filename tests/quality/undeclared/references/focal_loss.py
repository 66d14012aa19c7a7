import numpy as np


def reference(x, label):
    z = np.where(label % 2 == 1, -x, x)
    return np.where(label % 2 == 1, 0.25, 0.75) * np.exp(-2 * np.logaddexp(0, -z)) * np.logaddexp(0, z)
