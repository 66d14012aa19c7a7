"""Arguments of every kind that Triton takes, and what it refuses. Prints the cases that fail."""
from typing import NamedTuple

import numpy as np
import torch
import triton
import triton.language as tl

D = "cuda"
failed = []


def case(f):
    try:
        f()
    except Exception as problem:
        failed.append(f.__name__)
        print(f.__name__, type(problem).__name__, str(problem)[:300])


@triton.jit
def strided(x, out, n, m, xs, xt, B: tl.constexpr):
    i, j = tl.program_id(0), tl.arange(0, B)
    tl.store(out + i * m + j, tl.load(x + i * xs + j * xt, mask=j < m), mask=j < m)


@case
def views():
    base = torch.arange(240.0, device=D).reshape(12, 20)
    for x in (base, base.t(), base[2:9:2, 3:15:3], base[:1].expand(5, 20), torch.as_strided(base, (4, 5), (21, 2), 7)):
        out = torch.empty(x.shape, device=D)
        strided[(x.shape[0],)](x, out, *x.shape, *x.stride(), B=32)
        assert torch.equal(out, x), x.shape


@triton.jit
def scalars(out, a, b, c, flag, one, MODE: tl.constexpr):
    if flag:
        tl.store(out, a + b + c + one)
    tl.store(out + 1, MODE)


@case
def numbers():
    out = torch.zeros(2, device=D)
    for a, b, c in ((1, 2.5, 3), (1, torch.tensor(2.5).item(), 2**40 - 2**40 + 3), (1, np.float64(2.5), 3)):
        out.zero_()
        scalars[(1,)](out, a, b, c, True, 1, 7)
        assert out.tolist() == [7.5, 7.0], out
    scalars[(1,)](out, 1, 2, 3, False, 1, MODE=9)
    assert out[1].item() == 9


@triton.jit(do_not_specialize=["n"])
def plain(out, n):
    tl.store(out, n)


@case
def not_specialized():
    out = torch.zeros(1, dtype=torch.int64, device=D)
    for n in (1, 16, 17, 2**35):
        plain[(1,)](out, n)
        assert out.item() == n


@triton.jit
def optional(x, bias, out, B: tl.constexpr, num_warps: tl.constexpr):
    at = tl.arange(0, B)
    value = tl.load(x + at)
    if bias is not None:
        value += tl.load(bias + at)
    tl.store(out + at, value + num_warps)


@case
def none_and_option_names():
    x, out = torch.ones(64, device=D), torch.empty(64, device=D)
    optional[(1,)](x, None, out, 64, num_warps=2)
    assert out[0].item() == 3
    optional[(1,)](x, x, out, B=64, num_warps=4)
    assert out[0].item() == 6


@triton.jit
def twice(v):
    return 2 * v


@triton.jit
def square(v):
    return v * v


@triton.jit
def apply(x, out, f: tl.constexpr, B: tl.constexpr):
    at = tl.arange(0, B)
    tl.store(out + at, f(tl.load(x + at)))


@case
def functions():
    x, out = torch.full((32,), 3.0, device=D), torch.empty(32, device=D)
    apply[(1,)](x, out, twice, 32)
    assert out[0].item() == 6
    apply[(1,)](x, out, square, 32)
    assert out[0].item() == 9


class Pair(NamedTuple):
    left: object
    right: object


@triton.jit
def tuples(pointers, numbers, pair, B: tl.constexpr):
    at = tl.arange(0, B)
    tl.store(pointers[1] + at, tl.load(pointers[0] + at) + numbers[0] + numbers[1][0] + tl.load(pair.left + at) * pair.right)


@case
def nested_tuples():
    x, out = torch.ones(32, device=D), torch.empty(32, device=D)
    tuples[(1,)]((x, out), (2, (3, 4)), Pair(x, 5), 32)
    assert out[0].item() == 1 + 2 + 3 + 5


@triton.jit
def convert(x, out, T: tl.constexpr, B: tl.constexpr):
    at = tl.arange(0, B)
    tl.store(out + at, tl.load(x + at).to(T))


@case
def dtypes():
    kinds = {torch.float16: tl.float16, torch.bfloat16: tl.bfloat16, torch.int8: tl.int8, torch.uint8: tl.uint8, torch.int64: tl.int64,
             torch.float64: tl.float64, torch.float8_e5m2: tl.float8e5, torch.bool: tl.int1}
    for kind, name in kinds.items():
        x, out = torch.ones(32, device=D), torch.zeros(32, device=D).to(kind)
        convert[(1,)](x, out, name, 32)
        assert out.float()[5].item() == 1, kind


@case
def reinterpret():
    x, out = torch.ones(32, device=D), torch.zeros(32, dtype=torch.int8, device=D)
    convert[(1,)](x, triton.reinterpret(out, tl.uint8), tl.uint8, 32)
    assert out[3].item() == 1


class Owned:
    def __init__(self, tensor):
        self.tensor, self.dtype = tensor, tensor.dtype

    def data_ptr(self):
        return self.tensor.data_ptr()


@case
def objects_with_data_ptr():
    x, out = torch.ones(32, device=D), torch.zeros(32, device=D)
    convert[(1,)](Owned(x), Owned(out), tl.float32, 32)
    assert out.sum().item() == 32


@triton.jit
def through(addresses, out, B: tl.constexpr):
    at = tl.arange(0, B)
    x = tl.load(addresses).to(tl.pointer_type(tl.float32))
    tl.store(out + at, tl.load(x + at))


@case
def pointers_inside():
    x, out = torch.ones(32, device=D), torch.zeros(32, device=D)
    through[(1,)](torch.tensor([x.data_ptr()], dtype=torch.uint64, device=D), out, 32)
    assert out.sum().item() == 32


@case
def empty_and_zero_dims():
    x, out = torch.tensor(5.0, device=D), torch.zeros((), device=D)
    convert[(1,)](x, out, tl.float32, 1)
    assert out.item() == 5
    nothing = torch.empty(0, device=D)
    strided[(0,)](nothing, nothing, 0, 0, 1, 1, B=32)


@triton.jit
def described(desc, out_desc, M: tl.constexpr, N: tl.constexpr):
    out_desc.store([0, 0], desc.load([0, 0]) * 2)


@case
def descriptors():
    from triton.tools.tensor_descriptor import TensorDescriptor

    x, out = torch.ones(16, 32, device=D), torch.zeros(16, 32, device=D)
    described[(1,)](TensorDescriptor.from_tensor(x, [16, 32]), TensorDescriptor.from_tensor(out, [16, 32]), 16, 32)
    assert out.sum().item() == 1024


@case
def a_cpu_tensor_is_refused():
    try:
        convert[(1,)](torch.ones(32), torch.zeros(32, device=D), tl.float32, 32)
    except ValueError as problem:
        assert "cannot be accessed from Triton" in str(problem), problem
    else:
        raise AssertionError("no error")


@triton.jit(debug=True)
def asserted(x, B: tl.constexpr):
    tl.device_assert(tl.load(x + tl.arange(0, B)) > 0, "not positive")


@case
def assertions():
    asserted[(1,)](torch.ones(32, device=D), 32)
    torch.cuda.synchronize()
    try:
        asserted[(1,)](torch.zeros(32, device=D), 32)
        torch.cuda.synchronize()
    except RuntimeError as problem:
        assert "assert" in str(problem), problem
    else:
        raise AssertionError("no error")


print("failed", failed)
