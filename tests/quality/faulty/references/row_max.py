def reference(x):
    return x.max(axis=1)
