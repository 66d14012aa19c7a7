import numpy as np


def reference(m, b, **kwargs):
    """Cramer's rule: a matrix is singular where its determinant is 0."""
    def determinant(a):
        return (a[:, 0, 0] * (a[:, 1, 1] * a[:, 2, 2] - a[:, 1, 2] * a[:, 2, 1]) + a[:, 0, 1] * (a[:, 1, 2] * a[:, 2, 0] - a[:, 1, 0] * a[:, 2, 2])
                + a[:, 0, 2] * (a[:, 1, 0] * a[:, 2, 1] - a[:, 1, 1] * a[:, 2, 0]))

    x = np.empty_like(b)
    for column in range(3):
        replaced = m.copy()
        replaced[:, :, column] = b
        x[:, column] = determinant(replaced) / determinant(m)
    return x
