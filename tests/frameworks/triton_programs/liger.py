"""Operators of Liger-Kernel beside PyTorch's own on the CPU, forward and backward. Prints those that differ."""
import torch
import torch.nn.functional as F
from liger_kernel.ops.cross_entropy import LigerCrossEntropyFunction
from liger_kernel.ops.geglu import LigerGELUMulFunction
from liger_kernel.ops.layer_norm import LigerLayerNormFunction
from liger_kernel.ops.rms_norm import LigerRMSNormFunction
from liger_kernel.ops.swiglu import LigerSiLUMulFunction

torch.manual_seed(0)
ROWS, WIDTH = 6, 40
different = []


def compare(name, own, reference, *inputs):
    here = [one.cuda().requires_grad_(one.is_floating_point()) for one in inputs]
    there = [one.clone().requires_grad_(one.is_floating_point()) for one in inputs]
    mine, expected = own(*here), reference(*there)
    mine.sum().backward()
    expected.sum().backward()
    pairs = [(mine, expected), *((a.grad, b.grad) for a, b in zip(here, there) if b.grad is not None)]
    if not all(torch.allclose(a.cpu(), b, rtol=1e-4, atol=1e-5) for a, b in pairs):
        different.append(name)


def cross_entropy(x, target):
    made = LigerCrossEntropyFunction.apply(x, target, None, -100)
    return made[0] if isinstance(made, tuple) else made


x, gate = torch.randn(ROWS, WIDTH), torch.randn(ROWS, WIDTH)
weight, bias = torch.randn(WIDTH), torch.randn(WIDTH)
compare("rms_norm", lambda x, w: LigerRMSNormFunction.apply(x, w, 1e-6), lambda x, w: F.rms_norm(x, (WIDTH,), w, 1e-6), x, weight)
compare("layer_norm", lambda x, w, b: LigerLayerNormFunction.apply(x, w, b, 1e-6), lambda x, w, b: F.layer_norm(x, (WIDTH,), w, b, 1e-6), x, weight, bias)
compare("swiglu", LigerSiLUMulFunction.apply, lambda a, b: F.silu(a) * b, x, gate)
compare("geglu", LigerGELUMulFunction.apply, lambda a, b: F.gelu(a, approximate="tanh") * b, x, gate)
compare("cross_entropy", cross_entropy, F.cross_entropy, x, torch.randint(0, WIDTH, (ROWS,)))
print("different", different)
