def reference(x):
    return x.sum(keepdims=True)
