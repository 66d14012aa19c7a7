"""Eight chosen products per row."""
import numpy as np


def reference(values, columns, x):
    return (values * x[(columns & 0xFFFFFFFF) % len(x)]).sum(axis=1)


def error_scale(values, columns, x):
    return reference(np.abs(values), columns, np.abs(x))
