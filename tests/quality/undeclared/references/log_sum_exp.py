import numpy as np


def reference(x):
    most = x.max(axis=1, keepdims=True)
    shift = np.where(np.isinf(most), 0, most)
    return (shift + np.log(np.exp(x - shift).sum(axis=1, keepdims=True)))[:, 0]
