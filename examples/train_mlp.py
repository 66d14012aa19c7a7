#!/usr/bin/env python3
"""Trains an MLP (784-128-10, batch 32) on drawn data: one graph, captured once and replayed, on the emulator or a GPU.

  train_mlp.py [--backend emulator] [--optimizer adam] [--steps 100] [--compare] [--check] [--print] [--plant adam]

The loss of each tenth step is printed. --compare trains beside it with NumPy in float64, --check judges every op of one step,
--print shows the graph, the lowered ops and the memory plan. --plant adam trains with a wrong adam_step, which corrects the second
moment by the factor of the first, and prints the report of a check. The exit code is 1 if the check's verdict is not the expected one.
"""
import argparse
import sys

import numpy as np

import gpuemu
from gpuemu import program, rng, runtime

SIZES, ROWS = (784, 128, 10), 32

# The bug: both moments are corrected by scalars[1]; the second one needs scalars[2].
WRONG_ADAM = """extern "C" __global__ void adam(const float* p, const float* g, const float* m, const float* v, const float* scalars,
    float* p_out, float* m_out, float* v_out, int n, float beta1, float beta2, float eps, float decay) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float mean = beta1 * m[i] + (1 - beta1) * g[i], square = beta2 * v[i] + (1 - beta2) * g[i] * g[i];
  float step = mean * scalars[1] / (sqrtf(square * scalars[1]) + eps);
  p_out[i] = p[i] - scalars[0] * (step + decay * p[i]);
  m_out[i] = mean;
  v_out[i] = square;
}"""


def plant_adam():
    """Registers the wrong kernel with a higher priority than the built-in one."""
    launch = runtime.Launch("adam", "cdiv(p.count, 256)", 256, ["p", "g", "m", "v", "scalars", "p_out", "m_out", "v_out", "i32:p.count", "f32:beta1",
                                                              "f32:beta2", "f32:eps", "f32:decay"])
    return runtime.register_kernel("adam_step", "planted", WRONG_ADAM, [launch], types={"T": ["float32"]}, priority=10)


def training_step(optimizer):
    """Forward, loss, backward and update as one graph."""
    g = program.IRGraph(f"mlp_{optimizer}")
    x, target = g.input("x", (ROWS, SIZES[0])), g.input("target", (ROWS, SIZES[2]))
    rates = g.meta("scalars", (3,)) if optimizer == "adam" else g.meta("rate", (1,))
    w0, b0 = g.parameter("w0", (SIZES[1], SIZES[0])), g.parameter("b0", (SIZES[1],))
    w1, b1 = g.parameter("w1", (SIZES[2], SIZES[1])), g.parameter("b1", (SIZES[2],))
    h = g.linear(x, w0, b0)
    r = g.relu(h)
    y = g.linear(r, w1, b1)
    g.output("loss", g.mse(y, target))
    dr, dw1, db1 = g.linear_bwd(r, w1, g.mse_grad(y, target))
    _, dw0, db0 = g.linear_bwd(x, w0, g.relu_bwd(h, dr))
    for p, gradient in ((w0, dw0), (b0, db0), (w1, dw1), (b1, db1)):
        if optimizer == "adam":
            g.adam_step(p, gradient, g.parameter(f"m_{p.name}", p.shape), g.parameter(f"v_{p.name}", p.shape), rates)
        else:
            g.sgd_step(p, gradient, g.parameter(f"velocity_{p.name}", p.shape), rates, momentum=0.9)
    return g


def drawn(number, shape, scale):
    return (rng.generate(24, number, "train_mlp", "normal", [0.0, 1.0], shape, "float32") * scale).astype(np.float32)


class Float64:
    """The same training with NumPy."""

    def __init__(self, weights, optimizer):
        self.p = {"b0": np.zeros(SIZES[1]), "b1": np.zeros(SIZES[2]), **{name: one.astype(np.float64) for name, one in weights.items()}}
        self.m, self.v = ({name: np.zeros(one.shape) for name, one in self.p.items()} for _ in range(2))
        self.optimizer = optimizer

    def step(self, number, x, target, rate):
        p = self.p
        h = x @ p["w0"].T + p["b0"]
        r = np.maximum(h, 0.0)
        y = r @ p["w1"].T + p["b1"]
        dy = 2.0 * (y - target) / y.size
        dh = (dy @ p["w1"]) * (h > 0)
        for name, g in {"w0": dh.T @ x, "b0": dh.sum(axis=0), "w1": dy.T @ r, "b1": dy.sum(axis=0)}.items():
            if self.optimizer == "adam":
                self.m[name] = 0.9 * self.m[name] + 0.1 * g
                self.v[name] = 0.999 * self.v[name] + 0.001 * g * g
                p[name] -= rate * (self.m[name] / (1 - 0.9**number)) / (np.sqrt(self.v[name] / (1 - 0.999**number)) + 1e-8)
            else:
                self.m[name] = 0.9 * self.m[name] + g
                p[name] -= rate * self.m[name]
        return float(((y - target) ** 2).mean())


def parsed():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--backend", default="auto", choices=["auto", "emulator", "cuda"])
    parser.add_argument("--optimizer", default="adam", choices=["adam", "sgd"])
    parser.add_argument("--steps", type=int, default=100)
    for flag in ("compare", "check", "print"):
        parser.add_argument(f"--{flag}", action="store_true")
    parser.add_argument("--plant", choices=["adam"], help="train with a wrong kernel and check it")
    parser.add_argument("--save", help="folder for the reproducer (default: program-SEED)")
    options = parser.parse_args()
    if options.plant and options.optimizer != options.plant:
        parser.error("--plant adam goes with --optimizer adam")
    if options.steps < 1:
        parser.error(f"--steps is {options.steps}, expected 1 or more")
    return options


def main():
    options = parsed()
    if options.plant:
        plant_adam()
    rate = 1e-3 if options.optimizer == "adam" else 1e-2
    graph = training_step(options.optimizer)
    if options.print:
        lowered = graph.lower()
        print(graph.text(), program.lowered_text(lowered, graph), graph.bind(lowered).text(), sep="\n")
    with runtime.Device(options.backend) as device:
        executor = program.Executor(graph, device)
        weights = {"w0": drawn(0, (SIZES[1], SIZES[0]), 0.05), "w1": drawn(1, (SIZES[2], SIZES[1]), 0.1)}
        for name, content in weights.items():
            executor.set(name, content)
        x, target = drawn(2, (ROWS, SIZES[0]), 1.0), drawn(3, (ROWS, SIZES[2]), 1.0)
        executor.set("x", x)
        executor.set("target", target)
        exact = Float64(weights, options.optimizer) if options.compare else None
        replay = executor.capture()
        for step in range(1, options.steps + 1):
            metas = {"scalars": program.adam_scalars(step, rate)} if options.optimizer == "adam" else {"rate": np.array([rate], np.float32)}
            replay.launch(metas)
            beside = f"  float64 {exact.step(step, x.astype(np.float64), target.astype(np.float64), rate):.8g}" if exact else ""
            if step == 1 or step % 10 == 0:
                print(f"step {step:4}  loss {float(executor.get('loss')):.8g}{beside}")
        report = executor.check(save=options.save) if options.check or options.plant else None
        if report is not None:
            print(report)
    device.close()
    if report is None:
        return 0
    named = report.passed if not options.plant else report.first is not None and report.first.op == "adam_step"
    return 0 if named else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except gpuemu.DeviceError as problem:  # No such device, no library.
        sys.exit(f"train_mlp.py: {problem}")
