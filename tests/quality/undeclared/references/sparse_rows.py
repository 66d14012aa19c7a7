import numpy as np


def reference(places, values, x):
    return (values * x[places % len(x)]).sum(axis=0)
