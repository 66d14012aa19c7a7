def reference(x):
    return x.sum(axis=1, keepdims=x.shape[0] == 1)
