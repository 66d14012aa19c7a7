import math

import numpy as np


def reference(a, b, dy):
    share = 0.5 * (1 + np.vectorize(math.erf)(b / math.sqrt(2)))
    density = np.exp(-b * b / 2) / math.sqrt(2 * math.pi)
    return {"da": dy * b * share, "db": dy * a * (share + b * density)}
