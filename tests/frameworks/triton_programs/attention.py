"""Attention in one kernel, with a running maximum, causal and not, and its backward pass through torch."""
import torch
import triton
import triton.language as tl

DEVICE = torch.device("cuda", 0)


@triton.jit
def inner(total, sums, maxima, q, keys, values, row, start, end, scale, length, M: tl.constexpr, N: tl.constexpr, D: tl.constexpr, CAUSAL: tl.constexpr):
    depth = tl.arange(0, D)
    for first in tl.range(start, end, N):
        column = first + tl.arange(0, N)
        k = tl.load(keys + column[None, :] * D + depth[:, None], mask=column[None, :] < length, other=0.0)
        scores = tl.dot(q, k) * scale
        allowed = column[None, :] < length
        if CAUSAL:
            allowed = allowed & (row[:, None] >= column[None, :])
        scores = tl.where(allowed, scores, -1.0e6)
        above = tl.maximum(maxima, tl.max(scores, 1))
        weights = tl.math.exp2(scores - above[:, None])
        shrink = tl.math.exp2(maxima - above)
        sums = sums * shrink + tl.sum(weights, 1)
        v = tl.load(values + column[:, None] * D + depth[None, :], mask=column[:, None] < length, other=0.0)
        total = tl.dot(weights.to(tl.float16), v, total * shrink[:, None])
        maxima = above
    return total, sums, maxima


@triton.jit
def attention_kernel(q_ptr, k_ptr, v_ptr, out_ptr, scale, length, M: tl.constexpr, N: tl.constexpr, D: tl.constexpr, CAUSAL: tl.constexpr):
    block, head = tl.program_id(0), tl.program_id(1).to(tl.int64) * length * D
    row, depth = block * M + tl.arange(0, M), tl.arange(0, D)
    at = head + row[:, None] * D + depth[None, :]
    q = tl.load(q_ptr + at, mask=row[:, None] < length, other=0.0)
    total, sums, maxima = tl.zeros([M, D], tl.float32), tl.zeros([M], tl.float32), tl.full([M], -float("inf"), tl.float32)
    end = length if not CAUSAL else tl.minimum(length, (block + 1) * M)
    total, sums, maxima = inner(total, sums, maxima, q, k_ptr + head, v_ptr + head, row, 0, end, scale * 1.44269504, length, M, N, D, CAUSAL)
    tl.store(out_ptr + at, (total / sums[:, None]).to(tl.float16), mask=row[:, None] < length)


class Attention(torch.autograd.Function):
    @staticmethod
    def forward(ctx, q, k, v, causal):
        batch, heads, length, depth = q.shape
        out = torch.empty_like(q)
        attention_kernel[lambda meta: (triton.cdiv(length, meta["M"]), batch * heads)](
            q, k, v, out, depth ** -0.5, length, M=32, N=32, D=depth, CAUSAL=causal, num_warps=4, num_stages=2)
        ctx.save_for_backward(q, k, v)
        ctx.causal = causal
        return out

    @staticmethod
    def backward(ctx, dout):
        with torch.enable_grad():
            inputs = [one.detach().requires_grad_() for one in ctx.saved_tensors]
            expected = torch.nn.functional.scaled_dot_product_attention(*inputs, is_causal=ctx.causal)
        return *torch.autograd.grad(expected, inputs, dout), None


torch.manual_seed(20)
for causal in (False, True):
    q, k, v = (torch.randn(1, 2, 72, 32, device=DEVICE, dtype=torch.float16, requires_grad=True) for _ in range(3))
    made = Attention.apply(q, k, v, causal)
    expected = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=causal)
    torch.testing.assert_close(made, expected, atol=1e-2, rtol=1e-2)
    made.sum().backward()
    assert q.grad.is_cuda and q.grad.shape == q.shape
print("right")
