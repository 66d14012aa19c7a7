"""Triton kernels as people write them, compiled to PTX without a GPU: python3 triton_kernels.py FOLDER SM...

One file per kernel and target. Needs triton from PyPI; nothing runs.
"""
import pathlib
import sys

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget

KERNELS = []


def kernel(signature, warps=4, minimum=80, **constants):
    """Registers a kernel: types of its arguments in order, and its constants."""
    def add(function):
        KERNELS.append((triton.jit(function), signature, warps, minimum, constants))
        return KERNELS[-1][0]
    return add


@kernel("*fp32 *fp32 i32 i32", BLOCK=1024)
def softmax(x, y, stride, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    offsets = tl.arange(0, BLOCK)
    mask = offsets < columns
    v = tl.load(x + row * stride + offsets, mask=mask, other=-float("inf"))
    e = tl.exp(v - tl.max(v, axis=0))
    tl.store(y + row * stride + offsets, e / tl.sum(e, axis=0), mask=mask)


@kernel("*fp16 *fp16 *fp16 *fp16 i32 fp32", BLOCK=1024)
def layernorm(x, y, weight, bias, columns, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    offsets = tl.arange(0, BLOCK)
    mask = offsets < columns
    v = tl.load(x + row * columns + offsets, mask=mask, other=0).to(tl.float32)
    mean = tl.sum(v, axis=0) / columns
    centred = tl.where(mask, v - mean, 0.0)
    scale = tl.rsqrt(tl.sum(centred * centred, axis=0) / columns + eps)
    w = tl.load(weight + offsets, mask=mask).to(tl.float32)
    b = tl.load(bias + offsets, mask=mask).to(tl.float32)
    tl.store(y + row * columns + offsets, (centred * scale * w + b).to(tl.float16), mask=mask)


@kernel("*bf16 *bf16 *bf16 i32 fp32", BLOCK=2048, warps=8)
def rmsnorm(x, y, weight, columns, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    offsets = tl.arange(0, BLOCK)
    mask = offsets < columns
    v = tl.load(x + row * columns + offsets, mask=mask, other=0).to(tl.float32)
    scale = 1.0 / tl.sqrt(tl.sum(v * v, axis=0) / columns + eps)
    w = tl.load(weight + offsets, mask=mask)
    tl.store(y + row * columns + offsets, (v * scale).to(tl.bfloat16) * w, mask=mask)


@kernel("*fp32 *fp32 *bf16 *fp16 i32", BLOCK=512)
def activations(x, y, z, h, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    v = tl.load(x + offsets, mask=mask)
    silu = v * tl.sigmoid(v)
    tanh = 2 * tl.sigmoid(2 * v) - 1
    gelu = 0.5 * v * (1 + tl.erf(v * 0.70710678))
    tl.store(y + offsets, gelu + tl.maximum(v, 0) + tl.abs(v) + tl.floor(v) + tl.cos(v) * tl.sin(v), mask=mask)
    tl.store(z + offsets, silu.to(tl.bfloat16), mask=mask)
    tl.store(h + offsets, (tanh + tl.exp2(v) + tl.log2(v) + tl.log(v)).to(tl.float16), mask=mask)


def matmul(a, b, c, m, n, k, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, PRECISION: tl.constexpr):
    row = tl.program_id(0) * M + tl.arange(0, M)
    column = tl.program_id(1) * N + tl.arange(0, N)
    inner = tl.arange(0, K)
    total = tl.zeros((M, N), dtype=tl.float32)
    for start in range(0, k, K):
        at = inner + start
        left = tl.load(a + row[:, None] * k + at[None, :], mask=(row[:, None] < m) & (at[None, :] < k), other=0.0)
        right = tl.load(b + at[:, None] * n + column[None, :], mask=(at[:, None] < k) & (column[None, :] < n), other=0.0)
        total = tl.dot(left, right, total, input_precision=PRECISION)
    tl.store(c + row[:, None] * n + column[None, :], total.to(c.dtype.element_ty),
             mask=(row[:, None] < m) & (column[None, :] < n))


matmul_f16 = kernel("*fp16 *fp16 *fp16 i32 i32 i32", M=64, N=64, K=32, PRECISION="tf32")(matmul)
matmul_bf16 = kernel("*bf16 *bf16 *fp32 i32 i32 i32", M=128, N=64, K=64, PRECISION="tf32", warps=8)(matmul)
matmul_tf32 = kernel("*fp32 *fp32 *fp32 i32 i32 i32", M=64, N=64, K=32, PRECISION="tf32")(matmul)
matmul_ieee = kernel("*fp32 *fp32 *fp32 i32 i32 i32", M=32, N=32, K=32, PRECISION="ieee")(matmul)
matmul_fp8 = kernel("*fp8e4nv *fp8e4nv *fp32 i32 i32 i32", M=64, N=64, K=64, PRECISION="tf32", minimum=89)(matmul)


@kernel("*i8 *i8 *i32 i32", M=64, K=64)
def matmul_bytes(a, b, c, k, M: tl.constexpr, K: tl.constexpr):
    row = tl.arange(0, M)
    total = tl.zeros((M, M), dtype=tl.int32)
    for start in range(0, k, K):
        at = tl.arange(0, K) + start
        total += tl.dot(tl.load(a + row[:, None] * k + at[None, :]), tl.load(b + at[:, None] * M + row[None, :]))
    tl.store(c + row[:, None] * M + row[None, :], total)


@kernel("*fp16 *fp16 *fp16 *fp16 i32 fp32", M=64, N=64, D=64)
def flash_attention(q, k, v, out, length, scale, M: tl.constexpr, N: tl.constexpr, D: tl.constexpr):
    row = tl.program_id(0) * M + tl.arange(0, M)
    d = tl.arange(0, D)
    query = tl.load(q + row[:, None] * D + d[None, :], mask=row[:, None] < length, other=0)
    best = tl.full((M,), -float("inf"), dtype=tl.float32)
    total = tl.zeros((M,), dtype=tl.float32)
    result = tl.zeros((M, D), dtype=tl.float32)
    for start in range(0, length, N):
        column = start + tl.arange(0, N)
        key = tl.load(k + column[None, :] * D + d[:, None], mask=column[None, :] < length, other=0)
        score = tl.where((row[:, None] >= column[None, :]) & (column[None, :] < length), tl.dot(query, key) * scale, -1e30)
        now = tl.maximum(best, tl.max(score, axis=1))
        p = tl.exp(score - now[:, None])
        fade = tl.exp(best - now)
        total = total * fade + tl.sum(p, axis=1)
        value = tl.load(v + column[:, None] * D + d[None, :], mask=column[:, None] < length, other=0)
        result = tl.dot(p.to(tl.float16), value, result * fade[:, None])
        best = now
    tl.store(out + row[:, None] * D + d[None, :], (result / total[:, None]).to(tl.float16), mask=row[:, None] < length)


@kernel("*fp32 *fp32 i32 fp32 i64", BLOCK=1024)
def dropout(x, y, n, p, seed, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    keep = tl.rand(seed, offsets) > p
    v = tl.load(x + offsets, mask=offsets < n)
    tl.store(y + offsets, tl.where(keep, v / (1 - p), 0.0) + tl.randn(seed, offsets), mask=offsets < n)


@kernel("*fp32 *fp32 *i32 *i32", ROWS=16, BLOCK=256)
def scans(x, y, i, j, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.arange(0, ROWS)[:, None] * BLOCK + tl.arange(0, BLOCK)[None, :]
    tl.store(y + at, tl.cumsum(tl.load(x + at), axis=1) + tl.cumprod(tl.load(x + at), axis=0))
    tl.store(j + at, tl.cumsum(tl.load(i + at), axis=1, reverse=True))


@kernel("*fp32 *i32 *fp32 i32", BLOCK=512)
def argmax(x, index, least, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    offsets = tl.arange(0, BLOCK)
    v = tl.load(x + row * n + offsets, mask=offsets < n, other=-float("inf"))
    tl.store(index + row, tl.argmax(v, axis=0) + tl.argmin(v, axis=0))
    tl.store(least + row, tl.min(v, axis=0))


@kernel("*fp32 *i32 *i64", BLOCK=256)
def sort(x, i, w, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(x + at, tl.sort(tl.load(x + at)))
    tl.store(i + at, tl.sort(tl.load(i + at), descending=True))
    tl.store(w + at, tl.flip(tl.load(w + at)))


@kernel("*fp32 *i32 *fp16 *i64 i32", BLOCK=256)
def atomics(f, i, h, w, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    mask = at < n
    v = tl.load(f + at, mask=mask)
    tl.atomic_add(f + at % 7, v, mask=mask)
    tl.atomic_add(h + at, v.to(tl.float16), mask=mask)
    tl.atomic_max(f + 8, tl.max(v, axis=0))
    tl.atomic_min(i + at, at, mask=mask, sem="relaxed")
    tl.atomic_and(i + at + 9, at, mask=mask), tl.atomic_or(i + at, at), tl.atomic_xor(i + at, at, scope="cta")
    old = tl.atomic_xchg(i + at, at, mask=mask) + tl.atomic_cas(i + at, at, at + 1, sem="acquire")
    tl.atomic_add(w + at, old.to(tl.int64), sem="release")


@kernel("*fp32 *fp8e5 *fp16 *bf16 *fp8e5", BLOCK=512)
def casts_e5m2(x, y, h, b, z, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    v = tl.load(x + at)
    tl.store(y + at, v.to(tl.float8e5))
    tl.store(h + at, tl.load(z + at).to(tl.float16) + tl.load(z + at).to(tl.float32).to(tl.float16))
    tl.store(b + at, v.to(tl.bfloat16))


@kernel("*fp32 *fp8e4nv *fp16 *bf16 *fp8e4nv", minimum=89, BLOCK=512)
def casts_e4m3(x, y, h, b, z, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(y + at, tl.load(x + at).to(tl.float8e4nv))
    tl.store(h + at, tl.load(z + at).to(tl.float16))
    tl.store(b + at, tl.load(z + at).to(tl.bfloat16))


@kernel("*i8 *i16 *i32 *i64 *fp64", BLOCK=256)
def integer_types(a, b, c, d, e, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    v, w, x, y = tl.load(a + at), tl.load(b + at), tl.load(c + at), tl.load(d + at)
    tl.store(b + at, v * w + (w >> 3))
    tl.store(c + at, (x // 7) % 13 + (x << 2) + tl.cdiv(x, 5))
    tl.store(d + at, y * x + (y ^ w) + tl.umulhi(y, y))
    z = tl.load(e + at)
    tl.store(e + at, tl.sqrt(z) + tl.exp(z) + z / 3 + y.to(tl.float64) + tl.fma(z, z, z))
    tl.store(a + at, (x & 127).to(tl.int8) + (z > 0.5).to(tl.int8))


@kernel("*fp32 *i32 *i32", BLOCK=512)
def histogram_and_gather(x, i, out, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    index = tl.load(i + at)
    tl.store(out + tl.arange(0, 64), tl.histogram(index, 64))
    tl.store(x + at, tl.gather(tl.load(x + at), index, axis=0))


@kernel("*fp32 *fp32", BLOCK=64)
def transpose_and_join(x, y, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)[:, None] * BLOCK + tl.arange(0, BLOCK)[None, :]
    v = tl.trans(tl.load(x + at))
    both = tl.join(v, v * 2)
    left, right = tl.split(both)
    tl.store(y + at, left + right + tl.sum(tl.reshape(v, (BLOCK * BLOCK,)), axis=0))


def compile_all(folder, sms):
    folder.mkdir(parents=True, exist_ok=True)
    made = []
    for function, signature, warps, minimum, constants in KERNELS:
        name = [key for key, value in globals().items() if value is function][0]
        types = dict(zip(function.arg_names, signature.split()))
        types.update({key: "constexpr" for key in constants})
        aligned = {(i,): [["tt.divisibility", 16]] for i, t in enumerate(signature.split()) if t.startswith("*")}
        for sm in sms:
            if sm < minimum:
                continue
            source = triton.compiler.ASTSource(fn=function, signature=types, constexprs=constants, attrs=aligned)
            compiled = triton.compile(source, target=GPUTarget("cuda", sm, 32),
                                      options={"num_warps": warps, "ptx_version": 88})
            path = folder / f"triton_{name}_sm{sm}.ptx"
            path.write_text(compiled.asm["ptx"])
            made.append(path)
    return made


if __name__ == "__main__":
    print(len(compile_all(pathlib.Path(sys.argv[1]), [int(sm) for sm in sys.argv[2:]])), "PTX files")
