"""y = x in another type. Floats become integers towards zero: the nearest end where they do not fit, 0 for NaN."""
import numpy as np

RAW = True  # The types that the kernel sees; bfloat16 comes as float32.
TARGETS = ("float16", "bfloat16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32",
           "uint64", "bool")


def saturated(x, dtype):
    limits = np.iinfo(dtype)
    inside = (x > float(limits.min)) & (x < float(limits.max))  # float() of the largest rounds up for 32 and 64 bits.
    y = np.where(inside, x, 0.0).astype(dtype)
    y[x <= float(limits.min)] = limits.min
    y[x >= float(limits.max)] = limits.max
    return y


def reference(x, to):
    target = TARGETS[to]
    if target == "bool":
        return x != 0
    if "float" in target:
        return x.astype(np.float64)
    return saturated(x.astype(np.float64), target) if x.dtype.kind == "f" else x.astype(target)


def error_scale(x, to):
    return np.zeros(x.shape)
