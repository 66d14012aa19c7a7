import numpy as np

RAW = True


def reference(x):
    scale = np.abs(x).max(axis=1, keepdims=True) / np.float32(127)
    scaled = np.divide(x, scale, out=np.zeros_like(x), where=scale > 0)
    return np.rint(scaled).astype("int64")
