"""Products with the transposed, of rows of which two in four elements are stored."""
import numpy as np

POSITIONS = np.array([[0, 1], [0, 2], [0, 3], [1, 2], [1, 3], [2, 3]])


def with_zeros(a, where):
    chunks = np.zeros(where.shape + (4,), a.dtype)
    np.put_along_axis(chunks, POSITIONS[where.astype(int) % 6], a.reshape(where.shape + (2,)), -1)
    return chunks.reshape(a.shape[:-1] + (-1,))


def reference(a, where, b):
    return with_zeros(a, where) @ b.transpose(0, 2, 1)


def error_scale(a, where, b):
    return np.abs(with_zeros(a, where)) @ np.abs(b).transpose(0, 2, 1)
