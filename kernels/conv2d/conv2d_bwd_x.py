"""dx = the gradient of conv2d by its images."""
import numpy as np


def reference(w, dy, rows, columns, stride_rows, stride_columns, pad_rows, pad_columns):
    down, across = dy.shape[2:]
    # As wide as the last window reaches, which may be less or more than the padded image.
    high = max(rows + 2 * pad_rows, (down - 1) * stride_rows + w.shape[2])
    broad = max(columns + 2 * pad_columns, (across - 1) * stride_columns + w.shape[3])
    wide = np.zeros((dy.shape[0], w.shape[1], high, broad))
    for r in range(w.shape[2]):
        for t in range(w.shape[3]):
            for p in range(down):
                for q in range(across):
                    wide[:, :, p * stride_rows + r, q * stride_columns + t] += dy[:, :, p, q] @ w[:, :, r, t]
    return wide[:, :, pad_rows : pad_rows + rows, pad_columns : pad_columns + columns]


def error_scale(w, dy, rows, columns, stride_rows, stride_columns, pad_rows, pad_columns):
    return reference(np.abs(w), np.abs(dy), rows, columns, stride_rows, stride_columns, pad_rows, pad_columns)
