"""The error function and what is made of it."""
import math

import numpy as np

erf, erfc = np.vectorize(math.erf, otypes=[float]), np.vectorize(math.erfc, otypes=[float])


def reference(x):
    return erf(x), erfc(x), 0.5 * erfc(-x / math.sqrt(2)), 0.5 * x * (1 + erf(x / math.sqrt(2)))
