"""A product of matrices in float16 by tensor cores, tuned; the first configuration does not fit into shared memory."""
import torch
import triton
import triton.language as tl

DEVICE = torch.device("cuda", 0)
CONFIGS = [triton.Config({"M": 256, "N": 256, "K": 128, "GROUP": 8}, num_stages=4, num_warps=8),
           triton.Config({"M": 32, "N": 64, "K": 32, "GROUP": 8}, num_stages=3, num_warps=4),
           triton.Config({"M": 64, "N": 32, "K": 32, "GROUP": 8}, num_stages=4, num_warps=2)]


@triton.autotune(configs=CONFIGS, key=["rows", "columns", "depth"])
@triton.heuristics({"EVEN": lambda given: given["depth"] % given["K"] == 0})
@triton.jit
def matmul_kernel(a, b, c, rows, columns, depth, a_row, a_depth, b_depth, b_column, c_row, c_column,
                  M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, GROUP: tl.constexpr, EVEN: tl.constexpr, ACTIVATION: tl.constexpr):
    program, tall, broad = tl.program_id(0), tl.cdiv(rows, M), tl.cdiv(columns, N)
    group = program // (GROUP * broad)
    first = group * GROUP
    height = min(tall - first, GROUP)
    row_block, column_block = first + (program % (GROUP * broad)) % height, (program % (GROUP * broad)) // height
    tl.assume(row_block >= 0)
    row = (row_block * M + tl.arange(0, M)) % rows
    column = (column_block * N + tl.arange(0, N)) % columns
    inner = tl.arange(0, K)
    a_at = a + row[:, None] * a_row + inner[None, :] * a_depth
    b_at = b + inner[:, None] * b_depth + column[None, :] * b_column
    total = tl.zeros((M, N), dtype=tl.float32)
    for start in range(0, tl.cdiv(depth, K)):
        if EVEN:
            left, right = tl.load(a_at), tl.load(b_at)
        else:
            left = tl.load(a_at, mask=inner[None, :] < depth - start * K, other=0.0)
            right = tl.load(b_at, mask=inner[:, None] < depth - start * K, other=0.0)
        total = tl.dot(left, right, total)
        a_at += K * a_depth
        b_at += K * b_depth
    if ACTIVATION == "leaky_relu":
        total = tl.where(total >= 0, total, 0.01 * total)
    row, column = row_block * M + tl.arange(0, M), column_block * N + tl.arange(0, N)
    inside = (row[:, None] < rows) & (column[None, :] < columns)
    tl.store(c + row[:, None] * c_row + column[None, :] * c_column, total.to(tl.float16), mask=inside)


def matmul(a, b, activation=""):
    (rows, depth), columns = a.shape, b.shape[1]
    c = torch.empty((rows, columns), device=a.device, dtype=torch.float16)
    matmul_kernel[lambda meta: (triton.cdiv(rows, meta["M"]) * triton.cdiv(columns, meta["N"]),)](
        a, b, c, rows, columns, depth, a.stride(0), a.stride(1), b.stride(0), b.stride(1), c.stride(0), c.stride(1), ACTIVATION=activation)
    return c


torch.manual_seed(0)
a, b = torch.randn(96, 80, device=DEVICE, dtype=torch.float16), torch.randn(80, 112, device=DEVICE, dtype=torch.float16)
torch.testing.assert_close(matmul(a, b), torch.matmul(a, b), atol=1e-2, rtol=1e-2)
turned = b.t().contiguous().t()
torch.testing.assert_close(matmul(a, turned, "leaky_relu"), torch.nn.functional.leaky_relu(a @ turned, 0.01), atol=1e-2, rtol=1e-2)
print("right", matmul_kernel.best_config.kwargs["M"], len(matmul_kernel.configs_timings))
