"""Triton kernels as projects of their own, compiled on a machine without a GPU:
    pip install triton numpy; python tests/fidelity/triton_kernels.py FOLDER [sm_80 sm_90 ...]
makes FOLDER/sm_80/gpuemu.toml and so on, with the PTX beside it. What is compiled is ours; the PTX is not kept
in the repository."""
import pathlib
import sys

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource


@triton.jit
def softmax(x, y, cols, BLOCK: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, BLOCK)
    v = tl.load(x + row * cols + at, mask=at < cols, other=float("-inf"))
    e = tl.exp(v - tl.max(v, axis=0))
    tl.store(y + row * cols + at, e / tl.sum(e, axis=0), mask=at < cols)


@triton.jit
def layernorm(x, w, y, cols, BLOCK: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, BLOCK)
    here = at < cols
    v = tl.load(x + row * cols + at, mask=here, other=0.0).to(tl.float32)
    mean = tl.sum(v, axis=0) / cols
    centred = tl.where(here, v - mean, 0.0)
    scale = tl.rsqrt(tl.sum(centred * centred, axis=0) / cols + 1e-5)
    tl.store(y + row * cols + at, centred * scale * tl.load(w + at, mask=here), mask=here)


@triton.jit
def gelu(x, y, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + at, mask=at < n)
    tl.store(y + at, 0.5 * v * (1 + tl.erf(v * 0.7071067811865476)), mask=at < n)


@triton.jit
def matmul(a, b, c, m, n, k, BLOCK: tl.constexpr):
    rows = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    cols = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inner = tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK, BLOCK), tl.float32)
    for at in range(0, k, BLOCK):
        left = tl.load(a + rows[:, None] * k + at + inner, mask=(rows[:, None] < m) & (at + inner < k), other=0.0)
        right = tl.load(b + (at + inner[:, None]) * n + cols, mask=(at + inner[:, None] < k) & (cols < n), other=0.0)
        total += tl.dot(left, right)
    tl.store(c + rows[:, None] * n + cols, total, mask=(rows[:, None] < m) & (cols < n))


@triton.jit
def flash_attention(q, k, v, o, keys, BLOCK: tl.constexpr, FEATURES: tl.constexpr):
    rows = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    d, inner = tl.arange(0, FEATURES), tl.arange(0, BLOCK)
    queries = tl.load(q + rows[:, None] * FEATURES + d)
    most = tl.full((BLOCK,), float("-inf"), tl.float32)
    weight = tl.zeros((BLOCK,), tl.float32)
    total = tl.zeros((BLOCK, FEATURES), tl.float32)
    for at in range(0, keys, BLOCK):
        here = at + inner < keys
        key = tl.load(k + (at + inner)[None, :] * FEATURES + d[:, None], mask=here[None, :], other=0.0)
        scores = tl.where(here[None, :], tl.dot(queries, key) * 0.17677669, float("-inf"))
        above = tl.maximum(most, tl.max(scores, axis=1))
        p = tl.exp(scores - above[:, None])
        kept = tl.exp(most - above)
        weight = weight * kept + tl.sum(p, axis=1)
        value = tl.load(v + (at + inner)[:, None] * FEATURES + d, mask=here[:, None], other=0.0)
        total = total * kept[:, None] + tl.dot(p.to(value.dtype), value)
        most = above
    tl.store(o + rows[:, None] * FEATURES + d, total / weight[:, None])


@triton.jit
def argmax(x, y, cols, BLOCK: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, BLOCK)
    v = tl.load(x + row * cols + at, mask=at < cols, other=float("-inf"))
    tl.store(y + row, tl.argmax(v, axis=0))


@triton.jit
def cumsum(x, y, cols, BLOCK: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, BLOCK)
    v = tl.load(x + row * cols + at, mask=at < cols, other=0.0)
    tl.store(y + row * cols + at, tl.cumsum(v, axis=0), mask=at < cols)


@triton.jit
def dropout(x, y, n, seed, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    kept = tl.rand(seed, at) > 0.25
    v = tl.load(x + at, mask=at < n)
    tl.store(y + at, tl.where(kept, v / 0.75, 0.0), mask=at < n)


@triton.jit
def unfused(x, y, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + at, mask=at < n)
    tl.store(y + at, v * v - v * 3 + 1 / (1 + tl.exp(-v)) + tl.sqrt(tl.abs(v)) * tl.log2(tl.abs(v) + 1), mask=at < n)


@triton.jit
def sort_rows(x, y, BLOCK: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, BLOCK)
    tl.store(y + row * BLOCK + at, tl.sort(tl.load(x + row * BLOCK + at)))


@triton.jit
def histogram(x, y, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    v = tl.load(x + at, mask=at < n, other=255)
    tl.store(y + tl.arange(0, 256), tl.histogram(v.to(tl.int32), 256))


ROWS = "rows = [1, 6], cols = [1, 256]"
VECTOR = "n = [1, 2000]"
MATRIX = "m = [1, 80], n = [1, 80], k = [1, 100]"
FLASH = "blocks = [1, 3], keys = [1, 80]"
SHORT = {"float32": "fp32", "float16": "fp16", "bfloat16": "bf16", "int32": "i32", "uint8": "u8"}
RANGE = "[-8.0, 8.0]"
# kernel, dtypes, tensors with `:type` where it is fixed, scalars, constants, dims, grid
KERNELS = [
    (softmax, ("float32", "float16"), ("x[rows,cols] y[rows,cols]"), "cols", {"BLOCK": 256}, ROWS, ["rows"]),
    (layernorm, ("float32", "bfloat16"), "x[rows,cols] w[cols] y[rows,cols]", "cols", {"BLOCK": 256}, ROWS, ["rows"]),
    (gelu, ("float32",), "x[n] y[n]", "n", {"BLOCK": 256}, VECTOR, ["cdiv(n, 256)"]),
    (matmul, ("float32", "float16", "bfloat16"), "a[m,k] b[k,n] c[m,n]:float32", "m n k", {"BLOCK": 32}, MATRIX,
     ["cdiv(m, 32)", "cdiv(n, 32)"]),
    # Tiles that a warp group multiplies at once on sm_90.
    (matmul, ("float16",), "a[m,k] b[k,n] c[m,n]:float32", "m n k", {"BLOCK": 64}, MATRIX, ["cdiv(m, 64)", "cdiv(n, 64)"]),
    (flash_attention, ("float16",), "q[blocks*32,32] k[keys,32] v[keys,32] o[blocks*32,32]:float32", "keys",
     {"BLOCK": 32, "FEATURES": 32}, FLASH, ["blocks"]),
    (argmax, ("float32",), "x[rows,cols] y[rows]:int32", "cols", {"BLOCK": 256}, ROWS, ["rows"]),
    (cumsum, ("float32", "int32"), "x[rows,cols] y[rows,cols]", "cols", {"BLOCK": 256}, ROWS, ["rows"]),
    (dropout, ("float32",), "x[n] y[n]", "n n", {"BLOCK": 256}, VECTOR, ["cdiv(n, 256)"]),
    (unfused, ("float32",), "x[n] y[n]", "n", {"BLOCK": 256}, VECTOR, ["cdiv(n, 256)"]),
    (sort_rows, ("float32", "int32"), "x[rows,128] y[rows,128]", "", {"BLOCK": 128}, "rows = [1, 6]", ["rows"]),
    (histogram, ("uint8",), "x[n] y[256]:int32", "n", {"BLOCK": 1024}, "n = [1, 1024]", ["1"]),
]


def tensors_of(text, dtype):
    """(name, dims, dtype) of each tensor in the order of the arguments; the last is the output."""
    found = []
    for word in text.split():
        name, _, rest = word.partition("[")
        shape, _, fixed = rest.partition("]")
        found.append((name, shape.split(","), fixed.lstrip(":") or dtype))
    return found


def compiled(kernel, tensors, scalars, constants, sm):
    names = kernel.arg_names
    signature = {name: f"*{SHORT[dtype]}" for name, (_, _, dtype) in zip(names, tensors)}
    signature |= {name: "i32" for name in names[len(tensors):len(tensors) + len(scalars)]}
    signature |= {name: "constexpr" for name in constants}
    attributes = {(index,): [["tt.divisibility", 16]] for index in range(len(tensors))}
    source = ASTSource(kernel, signature, {(names.index(name),): value for name, value in constants.items()}, attributes)
    return triton.compile(source, target=GPUTarget("cuda", sm, 32), options={"num_warps": 4})


def entry_of(kernel, dtype, text, scalars, constants, dims, grid, sm, folder):
    tensors = tensors_of(text, dtype)
    made = compiled(kernel, tensors, scalars.split(), constants, sm)
    name = f"{kernel.__name__}_{dtype}" + ("_64" if constants["BLOCK"] == 64 else "")
    (folder / f"{name}.ptx").write_text(made.asm["ptx"])

    def table(tensor):
        shape = ", ".join(f'"{dim}"' for dim in tensor[1])
        domain = f", range = {RANGE}" if "float" in tensor[2] else ""
        return f'{{ name = "{tensor[0]}", shape = [{shape}], dtype = "{tensor[2]}"%s }}' % domain

    args = [tensor[0] for tensor in tensors] + [f"i32:{scalar}" for scalar in scalars.split()]
    # Scratch pointers follow, one or two by version; these kernels use none.
    args += ["ptr:null"] * (made.asm["ptx"].partition(")")[0].count(".param") - len(args))
    listed = ", ".join(f'"{arg}"' for arg in args)
    return f"""
[[kernels]]
name = "{name}"
source = "{name}.ptx"
reference = "none.py"
inputs = [{", ".join(table(tensor) for tensor in tensors[:-1])}]
outputs = [{table(tensors[-1]).replace(f", range = {RANGE}", "")}]
dims = {{ {dims} }}
dtypes = ["{dtype}"]
launches = [{{ entry = "{kernel.__name__}", grid = {grid}, block = {made.metadata.num_warps * 32}, \
shared = {made.metadata.shared}, args = [{listed}] }}]
""".replace("'", '"')


def main():
    folder, targets = pathlib.Path(sys.argv[1]), sys.argv[2:] or ["sm_80", "sm_90"]
    for target in targets:
        place = folder / target
        place.mkdir(parents=True, exist_ok=True)
        (place / "none.py").write_text("# Two devices are compared with each other: there is no reference.\n"
                                       "def reference():\n    raise NotImplementedError\n")
        text = f'[project]\nname = "triton_{target}"\n[runtime]\narch = "{target}"\n'
        for kernel, dtypes, *rest in KERNELS:
            for dtype in dtypes:
                text += entry_of(kernel, dtype, *rest, int(target[3:]), place)
        (place / "gpuemu.toml").write_text(text)
        print(place / "gpuemu.toml")


if __name__ == "__main__":
    main()
