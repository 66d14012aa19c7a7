"""dx = what each window gives each of its elements of dy, an equal share."""
import numpy as np


def reference(dy, rows, columns, kernel_rows, kernel_columns, stride_rows, stride_columns):
    dx = np.zeros((*dy.shape[:2], rows, columns))
    for p in range(dy.shape[2]):
        for q in range(dy.shape[3]):
            top, left = p * stride_rows, q * stride_columns
            dx[:, :, top : top + kernel_rows, left : left + kernel_columns] += dy[:, :, p : p + 1, q : q + 1]
    return dx / (kernel_rows * kernel_columns)


def error_scale(dy, rows, columns, kernel_rows, kernel_columns, stride_rows, stride_columns):
    return reference(np.abs(dy), rows, columns, kernel_rows, kernel_columns, stride_rows, stride_columns)
