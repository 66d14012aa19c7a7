def reference(x, index):
    return x[index]
