"""Products with the transposed, of rows of which one in two elements is stored."""
import numpy as np


def with_zeros(a, where):
    second = where % 2 == 1
    return np.stack([np.where(second, 0, a), np.where(second, a, 0)], -1).reshape(a.shape[:-1] + (-1,))


def reference(a, where, b):
    return with_zeros(a, where) @ b.transpose(0, 2, 1)


def error_scale(a, where, b):
    return np.abs(with_zeros(a, where)) @ np.abs(b).transpose(0, 2, 1)
