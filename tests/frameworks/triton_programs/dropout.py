"""Dropout from a seed: the mask is drawn in the kernel, and the same seed gives the same mask."""
import torch
import triton
import triton.language as tl

DEVICE = triton.runtime.driver.active.get_active_torch_device()


@triton.jit
def dropout_kernel(x_ptr, out_ptr, n, p, seed, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n)
    kept = tl.rand(seed, at) > p
    tl.store(out_ptr + at, tl.where(kept, x / (1 - p), 0.0), mask=at < n)


def dropout(x, p, seed):
    out = torch.empty_like(x)
    assert x.is_contiguous()
    dropout_kernel[lambda meta: (triton.cdiv(x.numel(), meta["BLOCK"]),)](x, out, x.numel(), p, seed, BLOCK=512)
    return out


x = torch.randn(1000, device=DEVICE) + 10
first, again, other = dropout(x, 0.5, 123), dropout(x, 0.5, 123), dropout(x, 0.5, 512)
assert torch.equal(first, again) and not torch.equal(first, other)
assert 400 < (first == 0).sum().item() < 600
torch.testing.assert_close(first[first != 0], (2 * x)[first != 0])
print("right")
