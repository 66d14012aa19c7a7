"""Whole programs from Python: lazy tensors with gradients, graphs, plans and their execution.

    from gpuemu import program
    program.set_backend("numpy")
    w = program.randn(10, 784, requires_grad=True)
    loss = program.mse_loss(program.linear(program.randn(32, 784), w), program.zeros(32, 10))
    loss.backward()
    print(loss.item(), w.grad.shape)
"""

from gpuemu.program.bisecting import BisectReport
from gpuemu.program.creation import full, ones, rand, randn, tensor, zeros
from gpuemu.program.errors import (
    BackendError,
    BindError,
    DTypeError,
    GradError,
    GraphError,
    ProgramCheckError,
    ProgramError,
    ShapeError,
)
from gpuemu.program.executor import PackedCall
from gpuemu.program.ir import IRGraph, adam_scalars
from gpuemu.program.lowering import lowered_text
from gpuemu.program.passes.apply import PassResult, apply_pass
from gpuemu.program.plan import BindingPlan, Slot
from gpuemu.program.report import CheckedOp, ProgramFinding, ProgramReport
from gpuemu.program.running import Executor, Replay, check
from gpuemu.program.session import (
    connect,
    connection,
    disconnect,
    flush,
    last_run,
    manual_seed,
    reset,
    set_backend,
    set_verbosity,
)
from gpuemu.program.tape import Run
from gpuemu.program.tensors import LAZY, Tensor, call, no_grad
from gpuemu.program.tracing import trace
from gpuemu.program.values import Node, Value
from gpuemu.program.workers import Connection

add, sub, mul, div, neg = LAZY.add, LAZY.sub, LAZY.mul, LAZY.div, LAZY.neg
matmul, transpose, linear = LAZY.matmul, LAZY.transpose, LAZY.linear
relu, gelu, silu, sigmoid, tanh, softmax = LAZY.relu, LAZY.gelu, LAZY.silu, LAZY.sigmoid, LAZY.tanh, LAZY.softmax
sum, mean, max = LAZY.sum, LAZY.mean, LAZY.max
mse_loss, cross_entropy = LAZY.mse_loss, LAZY.cross_entropy
layernorm, rmsnorm = LAZY.layernorm, LAZY.rmsnorm
conv2d, max_pool2d, avg_pool2d = LAZY.conv2d, LAZY.max_pool2d, LAZY.avg_pool2d
attention, embedding, gather, dropout = LAZY.attention, LAZY.embedding, LAZY.gather, LAZY.dropout
cast, reshape = LAZY.cast, LAZY.reshape

__all__ = [
    "BackendError", "BindError", "BindingPlan", "BisectReport", "CheckedOp", "Connection", "DTypeError", "Executor", "GradError", "GraphError", "IRGraph", "Node", "PackedCall", "PassResult",
    "ProgramCheckError", "ProgramError", "ProgramFinding", "ProgramReport", "Replay", "Run", "ShapeError", "Slot", "Tensor", "Value", "adam_scalars", "add", "apply_pass", "attention", "avg_pool2d", "call", "cast", "check",
    "connect", "connection", "conv2d", "cross_entropy", "disconnect", "div", "dropout", "embedding", "flush", "full", "gather", "gelu",
    "last_run", "layernorm", "linear", "lowered_text", "manual_seed", "matmul", "max", "max_pool2d", "mean", "mse_loss", "mul", "neg",
    "no_grad", "ones", "rand", "randn", "relu", "reset", "reshape", "rmsnorm", "set_backend", "set_verbosity", "sigmoid", "silu",
    "softmax", "sub", "sum", "tanh", "tensor", "trace", "transpose", "zeros",
]  # fmt: skip
