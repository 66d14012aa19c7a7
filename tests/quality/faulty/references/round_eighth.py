import numpy as np


def reference(x):
    return np.clip(np.rint(x * 8), -128, 127).astype("int64")
