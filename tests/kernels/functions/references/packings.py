"""Pairs swapped into one word, one number cut to tf32, one rounded, one cut to a byte."""
import numpy as np


def reference(x):
    swapped = x[:, ::-1]
    half = swapped.astype(np.float16).astype(np.float64)
    bits = swapped.astype(np.float16).view(np.int16)
    nearer_zero = np.where(np.abs(half) > np.abs(swapped), (bits - 1).astype(np.int16), bits).view(np.float16)
    byte = np.nan_to_num(np.maximum(x[:, 1], 0), posinf=2**32 - 1).astype(np.int64) & 255
    whole = np.nan_to_num(np.rint(x[:, 0]), posinf=2**31 - 1, neginf=-2**31).astype(np.int32)
    return swapped, swapped, nearer_zero.astype(np.float64), x[:, 0], whole, byte.astype(np.uint32)
