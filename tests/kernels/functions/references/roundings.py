"""To whole numbers, and the rest of a division by the float nearest to 0.7."""
import numpy as np


def reference(x):
    halves_away = np.trunc(x + np.copysign(0.5, x))
    return np.rint(x), np.floor(x), np.ceil(x), np.trunc(x), halves_away, np.fmod(x, float(np.float32(0.7)))
