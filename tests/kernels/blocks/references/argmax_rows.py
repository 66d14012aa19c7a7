"""The first of the largest; NaN is larger than all when its sign is clear, smaller when set."""
import numpy as np

RAW = True


def reference(x):
    bits = (x + np.float32(0)).view(np.uint32)
    order = np.where(bits >> 31, ~bits, bits ^ np.uint32(0x80000000))
    return order.argmax(axis=1).astype(np.int32)
