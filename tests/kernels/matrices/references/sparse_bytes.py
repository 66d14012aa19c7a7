"""Products of integers with the transposed, of rows of which two in four elements are stored."""
import numpy as np

POSITIONS = np.array([[0, 1], [0, 2], [0, 3], [1, 2], [1, 3], [2, 3]])


def reference(a, where, b):
    all_of = np.zeros(where.shape + (4,), np.int64)
    np.put_along_axis(all_of, POSITIONS[where.astype(int) % 6], a.reshape(where.shape + (2,)).astype(np.int64), -1)
    return (all_of.reshape(b.shape[0], 16, -1) @ b.astype(np.int64).transpose(0, 2, 1)).astype(np.int32)
