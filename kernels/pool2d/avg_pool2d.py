"""y = the mean of each window of images x (NCHW)."""
import numpy as np


def reference(x, kernel_rows, kernel_columns, stride_rows, stride_columns):
    y = np.empty((*x.shape[:2], (x.shape[2] - kernel_rows) // stride_rows + 1, (x.shape[3] - kernel_columns) // stride_columns + 1))
    for p in range(y.shape[2]):
        for q in range(y.shape[3]):
            top, left = p * stride_rows, q * stride_columns
            y[:, :, p, q] = x[:, :, top : top + kernel_rows, left : left + kernel_columns].mean(axis=(2, 3))
    return y


def error_scale(x, kernel_rows, kernel_columns, stride_rows, stride_columns):
    return reference(np.abs(x), kernel_rows, kernel_columns, stride_rows, stride_columns)
