"""Attributes of the built-in ops, packed as ops/capi takes them: (schema id, bytes).

Made by tools/make_op_attributes.py; do not edit.
"""
import struct


def adam_step(beta1: float = 0.9, beta2: float = 0.999, eps: float = 1e-08, decay: float = 0.0, beta1_double: float = 0.0, beta2_double: float = 0.0, eps_double: float = 0.0, decay_double: float = 0.0) -> tuple[int, bytes]:
    """m, v: running means of g and g^2; p = p - rate (m c1 / (sqrt(v c2) + eps) + decay p)

    beta1: float32, share of m that stays
    beta2: float32, share of v that stays
    eps: float32, added to the root of v
    decay: float32, of weights, beside the gradient
    beta1_double: float64, beta1 of float64 tensors; 0 is beta1
    beta2_double: float64, beta2 of float64 tensors; 0 is beta2
    eps_double: float64, eps of float64 tensors; 0 is eps
    decay_double: float64, decay of float64 tensors; 0 is decay
    """
    return 3074, struct.pack("<ffffdddd", beta1, beta2, eps, decay, beta1_double, beta2_double, eps_double, decay_double)


def attention(causal: int = 0, scale: float = 0.0) -> tuple[int, bytes]:
    """y = softmax(scale q k^T) v of the last two axes

    causal: int32, 1: query i sees the keys up to i
    scale: float64, of the products; 0 is 1 / sqrt(columns of q)
    """
    return 4865, struct.pack("<id", causal, scale)


def attention_bwd(causal: int = 0, scale: float = 0.0) -> tuple[int, bytes]:
    """gradients of attention; its weights are computed again

    causal: int32, 1: query i sees the keys up to i
    scale: float64, of the products; 0 is 1 / sqrt(columns of q)
    """
    return 8193, struct.pack("<id", causal, scale)


def avg_pool2d(kernel_rows: int = 2, kernel_columns: int = 2, stride_rows: int = 0, stride_columns: int = 0) -> tuple[int, bytes]:
    """y = the mean of each window of images x (NCHW)

    kernel_rows: int32, of a window
    kernel_columns: int32, of a window
    stride_rows: int32, 0 is kernel_rows
    stride_columns: int32, 0 is kernel_columns
    """
    return 7169, struct.pack("<iiii", kernel_rows, kernel_columns, stride_rows, stride_columns)


def avg_pool2d_bwd(kernel_rows: int = 2, kernel_columns: int = 2, stride_rows: int = 0, stride_columns: int = 0) -> tuple[int, bytes]:
    """dx = the gradient of avg_pool2d

    kernel_rows: int32, of a window
    kernel_columns: int32, of a window
    stride_rows: int32, 0 is kernel_rows
    stride_columns: int32, 0 is kernel_columns
    """
    return 7425, struct.pack("<iiii", kernel_rows, kernel_columns, stride_rows, stride_columns)


def conv2d(stride_rows: int = 1, stride_columns: int = 1, pad_rows: int = 0, pad_columns: int = 0) -> tuple[int, bytes]:
    """y = the products of images x (NCHW) with filters w (OIHW)

    stride_rows: int32, rows from one window to the next
    stride_columns: int32, columns from one window to the next
    pad_rows: int32, rows of zeros above and below
    pad_columns: int32, columns of zeros left and right
    """
    return 6401, struct.pack("<iiii", stride_rows, stride_columns, pad_rows, pad_columns)


def conv2d_bwd_w(stride_rows: int = 1, stride_columns: int = 1, pad_rows: int = 0, pad_columns: int = 0) -> tuple[int, bytes]:
    """dw = the gradient of conv2d by its filters

    stride_rows: int32, rows from one window to the next
    stride_columns: int32, columns from one window to the next
    pad_rows: int32, rows of zeros above and below
    pad_columns: int32, columns of zeros left and right
    """
    return 6913, struct.pack("<iiii", stride_rows, stride_columns, pad_rows, pad_columns)


def conv2d_bwd_x(stride_rows: int = 1, stride_columns: int = 1, pad_rows: int = 0, pad_columns: int = 0) -> tuple[int, bytes]:
    """dx = the gradient of conv2d by its images

    stride_rows: int32, rows from one window to the next
    stride_columns: int32, columns from one window to the next
    pad_rows: int32, rows of zeros above and below
    pad_columns: int32, columns of zeros left and right
    """
    return 6657, struct.pack("<iiii", stride_rows, stride_columns, pad_rows, pad_columns)


def dropout(p: float = 0.5) -> tuple[int, bytes]:
    """y = x / (1 - p), or 0 with probability p; the bits are Philox4x32-10 of key

    p: float64, share that is dropped, as a multiple of 2^-32
    """
    return 4609, struct.pack("<d", p)


def fill(value: float = 0.0) -> tuple[int, bytes]:
    """y = value everywhere

    value: float64, rounded to the dtype of y
    """
    return 6145, struct.pack("<d", value)


def gather(axis: int = 0) -> tuple[int, bytes]:
    """the slices of x along an axis that index names; 0 where it names none

    axis: int32, from 0, or from the end below 0
    """
    return 4353, struct.pack("<i", axis)


def gather_bwd(axis: int = 0) -> tuple[int, bytes]:
    """dx = the sums of the slices of dy that index gives each place, in their order

    axis: int32, of dx, from 0, or from the end below 0
    """
    return 5889, struct.pack("<i", axis)


def gemm(trans_a: int = 0, trans_b: int = 0, tf32: int = 0) -> tuple[int, bytes]:
    """c = op(a) * op(b), where op is the matrix or its transpose

    trans_a: int32, 1: a is stored as k x m
    trans_b: int32, 1: b is stored as n x k
    tf32: int32, 1: cublas may round float32 to TF32 first
    """
    return 2562, struct.pack("<iii", trans_a, trans_b, tf32)


def layernorm(eps: float = 1e-05, eps_double: float = 0.0) -> tuple[int, bytes]:
    """y = (x - mean) / sqrt(variance + eps) * weight + bias over the last axis

    eps: float32, added to the variance
    eps_double: float64, eps of float64 tensors; 0 is eps
    """
    return 258, struct.pack("<fd", eps, eps_double)


def layernorm_bwd(eps: float = 1e-05) -> tuple[int, bytes]:
    """gradients of layernorm; statistics of x are computed again

    eps: float64, added to the variance
    """
    return 4097, struct.pack("<d", eps)


def max_pool2d(kernel_rows: int = 2, kernel_columns: int = 2, stride_rows: int = 0, stride_columns: int = 0) -> tuple[int, bytes]:
    """y = the maximum of each window of images x (NCHW)

    kernel_rows: int32, of a window
    kernel_columns: int32, of a window
    stride_rows: int32, 0 is kernel_rows
    stride_columns: int32, 0 is kernel_columns
    """
    return 7681, struct.pack("<iiii", kernel_rows, kernel_columns, stride_rows, stride_columns)


def max_pool2d_bwd(kernel_rows: int = 2, kernel_columns: int = 2, stride_rows: int = 0, stride_columns: int = 0) -> tuple[int, bytes]:
    """dx = dy at the first largest element of each window, summed

    kernel_rows: int32, of a window
    kernel_columns: int32, of a window
    stride_rows: int32, 0 is kernel_rows
    stride_columns: int32, 0 is kernel_columns
    """
    return 7937, struct.pack("<iiii", kernel_rows, kernel_columns, stride_rows, stride_columns)


def random_fill(kind: int = 0, a: float = 0.0, b: float = 1.0, lo: int = 0, hi: int = 0) -> tuple[int, bytes]:
    """y = the values of the xorshift128+ stream that starts with state

    kind: int32, 0 uniform, 1 normal, 2 log-uniform, 3 integer
    a: float64, uniform: the least value; normal: the mean
    b: float64, uniform: the end of the values; normal: the standard deviation
    lo: int64, log-uniform: the least exponent; integer: the least value
    hi: int64, log-uniform: the largest exponent; integer: the largest value
    """
    return 5121, struct.pack("<iddqq", kind, a, b, lo, hi)


def reduce_max(axis: int = -1) -> tuple[int, bytes]:
    """y = maximum of x along an axis; NaN where one is, -inf of none

    axis: int32, from 0, or from the end below 0
    """
    return 3329, struct.pack("<i", axis)


def reduce_max_bwd(axis: int = -1) -> tuple[int, bytes]:
    """dx = dy at the first largest element of x along an axis, else 0

    axis: int32, from 0, or from the end below 0
    """
    return 5633, struct.pack("<i", axis)


def reduce_mean(axis: int = -1) -> tuple[int, bytes]:
    """y = mean of x along an axis; NaN of none

    axis: int32, from 0, or from the end below 0
    """
    return 3585, struct.pack("<i", axis)


def reduce_sum(axis: int = -1) -> tuple[int, bytes]:
    """y = sum of x along an axis; 0 of none

    axis: int32, from 0, or from the end below 0
    """
    return 3841, struct.pack("<i", axis)


def rmsnorm(eps: float = 1e-05, eps_double: float = 0.0) -> tuple[int, bytes]:
    """y = x / sqrt(mean(x * x) + eps) * weight over the last axis

    eps: float32, added to the mean square
    eps_double: float64, eps of float64 tensors; 0 is eps
    """
    return 514, struct.pack("<fd", eps, eps_double)


def rmsnorm_bwd(eps: float = 1e-05) -> tuple[int, bytes]:
    """gradients of rmsnorm; the mean square of x is computed again

    eps: float64, added to the mean square
    """
    return 5377, struct.pack("<d", eps)


def sgd_step(momentum: float = 0.0, decay: float = 0.0, momentum_double: float = 0.0, decay_double: float = 0.0) -> tuple[int, bytes]:
    """velocity = momentum velocity + g + decay p; p = p - rate velocity

    momentum: float32, share of the velocity that stays
    decay: float32, of weights, added to the gradient
    momentum_double: float64, momentum of float64 tensors; 0 is momentum
    decay_double: float64, decay of float64 tensors; 0 is decay
    """
    return 2818, struct.pack("<ffdd", momentum, decay, momentum_double, decay_double)
