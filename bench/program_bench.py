#!/usr/bin/env python3
"""Compares pairs of ways to run a step of a Python program, alternately in one process.

    GPUEMU_LIBRARY=BUILD/lib/gpuemu/libgpuemu.so.1 GPUEMU_CHECK=BUILD/bin/gpuemu-check python3 bench/program_bench.py [--backend emulator]

Median of --rounds rounds; in each round both ways run one after the other, so that other load affects
both.
"""
import argparse
import ctypes
import pathlib
import statistics
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "python"))
import driver_mlp  # noqa: E402
import numpy as np  # noqa: E402

from gpuemu import program, runtime  # noqa: E402
from gpuemu.runtime import structs  # noqa: E402

SMALL, MNIST = (8, 8), (784, 128, 10)
DRAW = np.random.default_rng(0)


def step(sizes, rows):
    """Returns a training step of an MLP with Adam: 14 ops for two layers."""
    g = program.IRGraph("mlp")
    x, target, scalars = g.input("x", (rows, sizes[0])), g.input("target", (rows, sizes[-1])), g.meta("scalars", (3,))
    layers = [(g.parameter(f"w{i}", (out, into)), g.parameter(f"b{i}", (out,))) for i, (into, out) in enumerate(zip(sizes, sizes[1:]))]
    inputs, sums = [x], []
    for i, (w, b) in enumerate(layers):
        sums.append(g.linear(inputs[-1], w, b))
        inputs.append(g.relu(sums[-1]) if i + 1 < len(layers) else sums[-1])
    g.output("loss", g.mse(inputs[-1], target))
    dy, updates = g.mse_grad(inputs[-1], target), []
    for i in reversed(range(len(layers))):
        dy, dw, db = g.linear_bwd(inputs[i], layers[i][0], dy)
        updates += [(layers[i][0], dw), (layers[i][1], db)]
        if i:
            dy = g.relu_bwd(sums[i - 1], dy)
    for p, gradient in updates:
        g.adam_step(p, gradient, g.parameter(f"m_{p.name}", p.shape), g.parameter(f"v_{p.name}", p.shape), scalars)
    return g


def ready(graph, device):
    executor = program.Executor(graph, device)
    for value in graph.values:
        if value.role == "parameter" and value.name.startswith("w"):
            executor.set(value.name, (DRAW.normal(size=value.shape) * 0.1).astype("float32"))
        elif value.role == "input":
            executor.set(value.name, DRAW.normal(size=value.shape).astype("float32"))
    executor.set("scalars", program.adam_scalars(1, 1e-3))
    return executor


def timed(run):
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def beside(first, second, rounds):
    """Returns the median times of both in milliseconds, and the median of the pairs' ratios."""
    first(), second()
    pairs = [(timed(first), timed(second)) for _ in range(rounds)]
    return (*(statistics.median(one) * 1e3 for one in zip(*pairs)), statistics.median(a / b for a, b in pairs))


def told(name, figures, goal):
    print(f"{name:<58} {figures[0]:>9.3f} ms {figures[1]:>9.3f} ms {figures[2]:>7.2f}  {goal}")


def c_calls(executor):
    """Prepares the calls of a run in the form of the C interface, so that only the library is
    measured."""
    library, device, calls, kept = executor.device._library, executor.device, [], []
    for one in executor.calls():
        sides = [(structs.Operand * len(row))(*[tensor._operand for tensor in row]) for row in (one.inputs, one.outputs)]
        kept.append(sides)
        calls.append(structs.Call(
            struct_bytes=ctypes.sizeof(structs.Call), op=device._op_number(one.op), inputs=ctypes.addressof(sides[0]), outputs=ctypes.addressof(sides[1]),
            input_count=len(one.inputs), output_count=len(one.outputs), schema_id=one.schema_id, attribute_bytes=len(one.attrs), attributes=one.attrs))
    handle = device._context.enter()
    device._context.leave()  # The handle is valid as long as the device is open.
    pointers = [ctypes.byref(one) for one in calls]

    def run():
        for pointer in pointers:
            assert library.gpuemu_op_call(handle, pointer) == 0

    run.kept = kept
    return run


def figures(device, rounds, driver_ptx):
    small = ready(step((8, 8, 8, 8, 8, 8, 8), 4), device)
    replay = small.capture()

    def replayed():
        replay.launch()
        device.synchronize()

    def op_by_op():
        small.run()
        device.synchronize()

    print(f"{'first beside second':<58} {'first':>12} {'second':>12} {'share':>7}  goal")
    issue = c_calls(small)
    told(f"op_call from Python, from C ({len(small.lowered)} ops, issued)", waiting(device, small.run, issue, rounds), "at most 3")
    told("op by op, replay (6 layers of 8)", beside(op_by_op, replayed, rounds), "at least 1.5 on the emulator, 5 on a GPU")
    mnist = ready(step(MNIST, 32), device)
    plain, lazy = loop_of(device)
    told("lazy loop, executor (784-128-10, 32 rows)", beside(lazy, plain, rounds), "at most 2")
    lazy_is_right(device)

    def run():
        mnist.run()
        device.synchronize()

    told("check(), op by op (784-128-10, 32 rows)", beside(mnist.check, run, max(9, rounds // 3)), "at most 10 on the emulator")
    print(f"\n{'workspace beside what is alive at once':<58} {'workspace':>12} {'alive':>12} {'share':>7}  goal")
    for name, graph in (("784-128-10", step(MNIST, 32)), ("12 layers of 64", step((64,) * 13, 32))):
        plan = graph.bind()
        print(f"{name:<58} {plan.workspace_bytes:>12} {plan.peak_live_bytes:>12} {plan.workspace_bytes / plan.peak_live_bytes:>7.2f}  at most 1.25")
    dlpack(device, rounds)
    if not device.is_emulator:
        replay = mnist.capture()
        beside_torch(mnist, replay, rounds)
        if driver_ptx:
            beside_driver(mnist, replay, rounds, driver_ptx)


def waiting(device, first, second, rounds):
    """Like beside(), for calls that return when they are issued: waiting for the device is not
    measured."""
    def each(run):
        spent = timed(run)
        device.synchronize()
        return spent

    each(first), each(second)
    pairs = [(each(first), each(second)) for _ in range(rounds)]
    return (*(statistics.median(one) * 1e3 for one in zip(*pairs)), statistics.median(a / b for a, b in pairs))


def loop_of(device):
    """Returns the same step with lazy tensors, SGD without momentum, and as an executor."""
    program.reset()
    program.set_backend(device.backend, local=True, device=device)
    shapes = [(128, 784), (128,), (10, 128), (10,)]
    first = [(DRAW.normal(size=shape) * 0.1).astype("float32") for shape in shapes]
    x, target = DRAW.normal(size=(32, 784)).astype("float32"), DRAW.normal(size=(32, 10)).astype("float32")
    weights = [program.tensor(one, requires_grad=True) for one in first]
    inputs = program.tensor(x), program.tensor(target)

    def lazy():
        loss = program.mse_loss(program.linear(program.linear(inputs[0], *weights[:2]).relu(), *weights[2:]), inputs[1])
        for one in weights:
            one.zero_grad()
        loss.backward()
        for one in weights:
            one.assign(one - 0.01 * one.grad)
        program.flush()
        loss.item()

    lazy()
    graph = program.last_run().graph
    executor = program.Executor(graph, device)
    for value in graph.values:
        if value.role in ("input", "parameter", "meta"):
            executor.set(value.name, np.zeros(value.shape, value.dtype))

    def plain():
        executor.run()
        device.synchronize()

    return plain, lazy


def lazy_losses(steps, **where):
    """Returns the losses of the lazy loop from the same weights."""
    program.reset()
    program.set_backend(**where)
    draw = np.random.default_rng(1)
    weights = [program.tensor((draw.normal(size=shape) * 0.1).astype("float32"), requires_grad=True) for shape in ((128, 784), (128,), (10, 128), (10,))]
    x, target = (program.tensor(draw.normal(size=(32, size)).astype("float32")) for size in (784, 10))
    losses = []
    for _ in range(steps):
        loss = program.mse_loss(program.linear(program.linear(x, *weights[:2]).relu(), *weights[2:]), target)
        for one in weights:
            one.zero_grad()
        loss.backward()
        for one in weights:
            one.assign(one - 0.05 * one.grad)
        losses.append(loss.item())
    return np.array(losses)


def lazy_is_right(device):
    """Compares steps that are launched as graphs with the same steps in NumPy."""
    ours, theirs = lazy_losses(24, backend=device.backend, local=True, device=device), lazy_losses(24, backend="numpy")
    print(f"24 lazy steps beside NumPy's: losses from {ours[0]:.4f} to {ours[-1]:.4f}, largest relative difference {np.abs(ours / theirs - 1).max():.1e}")
    program.reset()


STEPS = 50  # Steps of a round: training does not wait after each one.


def beside_torch(mnist, replay, rounds):
    """Compares the replayed step with a CUDA graph of PyTorch; the share is that of steps per second."""
    try:
        import torch
    except ImportError:
        print("the step as a graph of PyTorch: no torch here")
        return
    layers = torch.nn.Sequential(torch.nn.Linear(784, 128), torch.nn.ReLU(), torch.nn.Linear(128, 10)).cuda()
    adam = torch.optim.Adam(layers.parameters(), lr=1e-3, capturable=True, foreach=True)
    x, target = torch.randn(32, 784, device="cuda"), torch.randn(32, 10, device="cuda")

    def run():
        adam.zero_grad(set_to_none=True)
        torch.nn.functional.mse_loss(layers(x), target).backward()
        adam.step()

    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            run()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        run()

    def theirs():
        for _ in range(STEPS):
            graph.replay()
        torch.cuda.synchronize()

    told(f"{STEPS} steps of 784-128-10: PyTorch's graph, replay", beside(theirs, steps_of(mnist, replay), rounds), "at least 0.8: steps per second of PyTorch's")


def steps_of(mnist, replay):
    def ours():
        for _ in range(STEPS):
            replay.launch()
        mnist.device.synchronize()

    return ours


def beside_driver(mnist, replay, rounds, ptx):
    """Does the same with kernels of a program that calls the driver by hand."""
    by_hand = driver_mlp.DriverMlp(pathlib.Path(ptx).read_bytes())

    def theirs():
        for _ in range(STEPS):
            by_hand.launch()
        by_hand.synchronize()

    told(f"{STEPS} steps of 784-128-10: a graph of the driver by hand, replay", beside(theirs, steps_of(mnist, replay), rounds), "no goal: where there is no PyTorch")


def dlpack(device, rounds):
    try:
        import torch
    except ImportError:
        print("\nDLPack there and back: no torch here")
        return
    ours = device.zeros((64, 64))
    theirs = torch.zeros(64, 64, device="cpu" if device.is_emulator else "cuda")
    print()
    told("DLPack there and back, torch to torch (1,000 times)",
         beside(lambda: [runtime.from_dlpack(torch.from_dlpack(ours), device=device) for _ in range(1000)],
                lambda: [torch.from_dlpack(torch.from_dlpack(theirs)) for _ in range(1000)], rounds), "at most 5")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--backend", choices=("emulator", "cuda"), default="emulator")
    parser.add_argument("--rounds", type=int, default=31)
    parser.add_argument("--driver-ptx", help="what driver_mlp.py compile made: also beside a graph of the driver, on a GPU")
    chosen = parser.parse_args()
    with runtime.Device(chosen.backend) as device:
        print(device)
        figures(device, max(9, chosen.rounds), chosen.driver_ptx)


if __name__ == "__main__":
    main()
