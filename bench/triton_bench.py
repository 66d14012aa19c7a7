#!/usr/bin/env python3
"""Compares kernels of Triton on the emulator with Triton's interpreter.

    python3 bench/triton_bench.py --bin BUILD/bin [--rounds 3] [--checks none] [--isa avx2] [--arch sm_90]

python3 must have torch and triton. In each round both run one after the other, each in a process of its own, so that other load
affects both. A process prints the least of its launches after the first, which compiles.
"""
import argparse
import os
import pathlib
import statistics
import subprocess
import sys
import time

INTERPRETED = os.environ.get("TRITON_INTERPRET") == "1"


def kernels():
    """Returns the name of each operation with a function that runs it once and one that returns its largest error."""
    import torch
    import triton
    import triton.language as tl
    from triton_kernels import gelu, softmax, vector_add

    torch.set_num_threads(1)
    torch.manual_seed(0)
    device = "cpu" if INTERPRETED else "cuda"

    @triton.jit
    def matmul(a, b, c, SIDE: tl.constexpr, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
        row, column, inner = tl.program_id(0) * M + tl.arange(0, M), tl.program_id(1) * N + tl.arange(0, N), tl.arange(0, K)
        total = tl.zeros((M, N), dtype=tl.float32)
        for start in range(0, SIDE, K):
            left = tl.load(a + row[:, None] * SIDE + (start + inner)[None, :])
            right = tl.load(b + (start + inner)[:, None] * SIDE + column[None, :])
            total = tl.dot(left, right, total)
        tl.store(c + row[:, None] * SIDE + column[None, :], total.to(tl.float16))

    @triton.jit
    def attention(q, k, v, out, scale, LENGTH: tl.constexpr, D: tl.constexpr, M: tl.constexpr, N: tl.constexpr):
        row, depth, head = tl.program_id(0) * M + tl.arange(0, M), tl.arange(0, D), tl.program_id(1) * LENGTH * D
        query = tl.load(q + head + row[:, None] * D + depth[None, :])
        total, sums, maxima = tl.zeros([M, D], tl.float32), tl.zeros([M], tl.float32), tl.full([M], -float("inf"), tl.float32)
        for first in range(0, LENGTH, N):
            column = first + tl.arange(0, N)
            scores = tl.dot(query, tl.load(k + head + column[None, :] * D + depth[:, None])) * scale
            above = tl.maximum(maxima, tl.max(scores, 1))
            weights, shrink = tl.math.exp2(scores - above[:, None]), tl.math.exp2(maxima - above)
            sums = sums * shrink + tl.sum(weights, 1)
            total = tl.dot(weights.to(tl.float16), tl.load(v + head + column[:, None] * D + depth[None, :]), total * shrink[:, None])
            maxima = above
        tl.store(out + head + row[:, None] * D + depth[None, :], (total / sums[:, None]).to(tl.float16))

    @triton.jit
    def layer_norm(x, weight, bias, out, width, eps, BLOCK: tl.constexpr):
        at = tl.arange(0, BLOCK)
        row = tl.load(x + tl.program_id(0) * width + at, mask=at < width, other=0.0)
        centred = tl.where(at < width, row - tl.sum(row, axis=0) / width, 0.0)
        scale = 1 / tl.sqrt(tl.sum(centred * centred, axis=0) / width + eps)
        made = centred * scale * tl.load(weight + at, mask=at < width) + tl.load(bias + at, mask=at < width)
        tl.store(out + tl.program_id(0) * width + at, made, mask=at < width)

    n, rows, width = 1 << 20, 1024, 1000
    x, y, sums, curve = (torch.randn(n).to(device) for _ in range(4))
    table, weight, bias = torch.randn(rows, width).to(device), torch.randn(width).to(device), torch.randn(width).to(device)
    shares, normal = torch.empty_like(table), torch.empty_like(table)
    side, length, columns, heads = 256, 256, 64, 2
    a, b = (torch.randn(side, side, dtype=torch.float16).to(device) for _ in range(2))
    c = torch.empty_like(a)
    q, k, v = (torch.randn(heads, length, columns, dtype=torch.float16).to(device) for _ in range(3))
    out = torch.empty_like(q)

    def error(made, expected):
        return (made.cpu().float() - expected).abs().max().item()

    functional = torch.nn.functional
    return {
        "vector add 2^20": (lambda: vector_add[(n // 1024,)](x, y, sums, n, BLOCK=1024), lambda: error(sums, (x + y).cpu())),
        "gelu 2^20": (lambda: gelu[(n // 1024,)](x, curve, n, BLOCK=1024), lambda: error(curve, functional.gelu(x.cpu()))),
        "softmax 1024 x 1000": (lambda: softmax[(rows,)](table, shares, width, BLOCK=1024), lambda: error(shares, table.cpu().softmax(1))),
        "layer norm 1024 x 1000": (
            lambda: layer_norm[(rows,)](table, weight, bias, normal, width, 1e-5, BLOCK=1024),
            lambda: error(normal, functional.layer_norm(table.cpu(), (width,), weight.cpu(), bias.cpu()))),
        "matmul 256^3": (lambda: matmul[(side // 64, side // 64)](a, b, c, side, M=64, N=64, K=32, num_warps=4),
                         lambda: error(c, a.cpu().float() @ b.cpu().float())),
        "attention 2 x 256 x 64": (
            lambda: attention[(length // 64, heads)](q, k, v, out, columns ** -0.5 * 1.44269504, length, D=columns, M=64, N=32, num_warps=4),
            lambda: error(out, functional.scaled_dot_product_attention(*(one.cpu().float() for one in (q, k, v))))),
    }


def measure(launches):
    import torch

    for name, (run, error) in kernels().items():
        least = float("inf")
        for launch in range(launches):
            start = time.perf_counter()
            run()
            if not INTERPRETED:
                torch.cuda.synchronize()
            if launch != 0:
                least = min(least, time.perf_counter() - start)
        assert error() < 0.05, f"{name}: off by {error()}"
        print(f"{name}\t{least}", flush=True)


def measured(command, environment):
    done = subprocess.run(list(map(str, command)), env={**os.environ, **environment}, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}")
    return {name: float(seconds) for name, seconds in (line.split("\t") for line in done.stdout.splitlines() if "\t" in line)}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", type=pathlib.Path, help="folder of gpuemu")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--launches", type=int, default=6, help="launches of each kernel on the emulator in a round")
    parser.add_argument("--checks", help="as gpuemu run --checks has it")
    parser.add_argument("--isa", help="GPUEMU_EMULATOR_ISA of the emulator")
    parser.add_argument("--arch", help="as gpuemu run --arch has it")
    parser.add_argument("--measure", action="store_true", help="run the kernels in this process and print seconds")
    chosen = parser.parse_args()
    if chosen.measure:
        return measure(chosen.launches)
    here = [sys.executable, __file__, "--measure", "--launches"]
    options = [word for name in ("checks", "arch") if (value := getattr(chosen, name)) for word in (f"--{name}", value)]
    ours, theirs = [], []
    for _ in range(chosen.rounds):
        theirs.append(measured([*here, 3], {"TRITON_INTERPRET": "1"}))
        ours.append(measured([chosen.bin / "gpuemu", "run", *options, "--", *here, chosen.launches], {"GPUEMU_EMULATOR_ISA": chosen.isa} if chosen.isa else {}))
    print(f"{'':<28} {'interpreter':>14} {'emulator':>14} {'ratio':>8}")
    for name in ours[0]:
        first, second = [one[name] for one in theirs], [one[name] for one in ours]
        ratio = statistics.median(a / b for a, b in zip(first, second))
        print(f"{name:<28} {statistics.median(first) * 1e3:>11.2f} ms {statistics.median(second) * 1e3:>11.2f} ms {ratio:>8.1f}")


if __name__ == "__main__":
    main()
