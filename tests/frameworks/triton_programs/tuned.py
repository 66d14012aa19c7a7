"""A tuned kernel that changes its argument in place: the trials of the autotuner must leave no trace."""
import torch
import triton
import triton.language as tl


@triton.autotune(configs=[triton.Config({"BLOCK": 256}), triton.Config({"BLOCK": 512})], key=["n"])
@triton.jit
def increment(x_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x_ptr + at, tl.load(x_ptr + at, mask=at < n) + 1, mask=at < n)


x = torch.zeros(1000, device="cuda")
increment[lambda meta: (triton.cdiv(1000, meta["BLOCK"]),)](x, 1000)
print(increment.best_config.kwargs["BLOCK"], [timings[0] for timings in increment.configs_timings.values()], x.mean().item())
