import numpy as np

RAW = True


def reference(x):
    scale = np.maximum(np.abs(x).max(axis=1), np.float32(1e-8)) / np.float32(127)
    return np.rint(x / scale[:, None]).astype("int64"), scale
