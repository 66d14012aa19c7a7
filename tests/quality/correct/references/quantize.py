import numpy as np

RAW = True


def reference(x, scale):
    finite = np.where(np.isnan(x), np.float32(-127), x)
    return np.rint(np.clip(finite / np.float32(scale), -127, 127)).astype("int64")
