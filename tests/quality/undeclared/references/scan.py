def reference(x):
    return x.cumsum(axis=1)
