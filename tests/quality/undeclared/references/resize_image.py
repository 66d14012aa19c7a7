import numpy as np


def around(size, times):
    at = np.maximum((np.arange(size * times) + 0.5) / times - 0.5, 0)
    first = at.astype(int)
    return first, np.minimum(first + 1, size - 1), at - first


def reference(x):
    top, bottom, low = around(x.shape[0], 2)
    left, right, far = around(x.shape[1], 3)
    above = (1 - far) * x[top][:, left] + far * x[top][:, right]
    below = (1 - far) * x[bottom][:, left] + far * x[bottom][:, right]
    return (1 - low[:, None]) * above + low[:, None] * below
