"""y = the products of images x (NCHW) with filters w (OIHW)."""
import numpy as np


def reference(x, w, stride_rows, stride_columns, pad_rows, pad_columns):
    wide = np.pad(x, ((0, 0), (0, 0), (pad_rows, pad_rows), (pad_columns, pad_columns)))
    down = (wide.shape[2] - w.shape[2]) // stride_rows + 1
    across = (wide.shape[3] - w.shape[3]) // stride_columns + 1
    y = np.zeros((x.shape[0], w.shape[0], down, across))
    for r in range(w.shape[2]):
        for t in range(w.shape[3]):
            seen = wide[:, :, r : r + down * stride_rows : stride_rows, t : t + across * stride_columns : stride_columns]
            y += np.einsum("ncpq,oc->nopq", seen[:, :, :down, :across], w[:, :, r, t])
    return y


def error_scale(x, w, stride_rows, stride_columns, pad_rows, pad_columns):
    return reference(np.abs(x), np.abs(w), stride_rows, stride_columns, pad_rows, pad_columns)
