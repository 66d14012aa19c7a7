"""Functions of an angle; sinpi of an exact multiple is exact."""
import numpy as np


def reference(x):
    return np.sin(x), np.cos(x), np.tan(x), np.sin(np.pi * np.fmod(x, 2.0)), np.arctan(x)
