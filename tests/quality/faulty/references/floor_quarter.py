def reference(x):
    return x // 4
