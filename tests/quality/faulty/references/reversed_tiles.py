import numpy as np


def reference(x):
    return np.concatenate([x[at:at + 64][::-1] for at in range(0, x.size, 64)])
