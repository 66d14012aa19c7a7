def reference(x):
    return x.max(-1)
