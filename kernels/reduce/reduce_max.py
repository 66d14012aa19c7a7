"""Maxima along axis 1, NaN where one is."""
import numpy as np


def reference(x):
    return x.max(axis=1)


def error_scale(x):
    return np.zeros(reference(x).shape)
