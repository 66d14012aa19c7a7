def reference(x):
    return x.prod(axis=1)


def error_scale(x):
    return x.shape[1] * reference(x)
