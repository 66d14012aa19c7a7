"""dx = dy at the first largest element along the axis, else 0; a NaN counts as the largest."""
import numpy as np


def reference(x, dy):
    dx = np.zeros(x.shape)
    np.put_along_axis(dx, np.argmax(x, axis=1)[:, None, :], dy[:, None, :], axis=1)
    return dx


def error_scale(x, dy):
    return np.zeros(x.shape)
