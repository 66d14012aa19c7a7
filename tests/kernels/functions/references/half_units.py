"""Powers of 2 and hyperbolic tangents; the third reads the bits of halves as bfloat16."""
import numpy as np

RAW = True


def reference(x):
    wide = x.astype(np.float64)
    as_bfloat = (x.view(np.uint16).astype(np.uint32) << 16).view(np.float32).astype(np.float64)
    return np.exp2(wide), np.tanh(wide), np.tanh(as_bfloat)
