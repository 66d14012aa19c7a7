#!/usr/bin/env python3
"""The MLP step of program_bench.py written by hand: its own kernels, launched through the CUDA driver in
one graph. Replaces PyTorch's graph if there is no PyTorch.

    python3 bench/driver_mlp.py compile OUT.ptx [--nvrtc LIBNVRTC]     on a machine with NVRTC
    python3 bench/driver_mlp.py run MLP.ptx                            a step and its loss, and NumPy's
"""
import argparse
import ctypes
import pathlib
import sys

import numpy as np

INTO, HIDDEN, OUT, ROWS = 784, 128, 10, 32
SOURCE = """
// y = x w^T + b: a warp for each element.
extern "C" __global__ void linear(const float* x, const float* w, const float* b, float* y, int rows, int into, int out) {
  int at = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
  if (at >= rows * out) return;
  const float* xr = x + at / out * into, *wr = w + at % out * into;
  float sum = 0;
  for (int i = lane; i < into; i += 32) sum += xr[i] * wr[i];
  for (int step = 16; step > 0; step /= 2) sum += __shfl_down_sync(~0u, sum, step);
  if (lane == 0) y[at] = sum + b[at % out];
}
extern "C" __global__ void relu(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i] > 0 ? x[i] : 0;
}
extern "C" __global__ void relu_bwd(const float* x, const float* dy, float* dx, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) dx[i] = x[i] > 0 ? dy[i] : 0;
}
extern "C" __global__ void mse(const float* y, const float* target, float* loss, float* dy, int n) {
  __shared__ float sums[10];
  int i = threadIdx.x;
  float d = y[i] - target[i], sum = d * d;
  dy[i] = 2 * d / n;
  for (int step = 16; step > 0; step /= 2) sum += __shfl_down_sync(~0u, sum, step);
  if (i % 32 == 0) sums[i / 32] = sum;
  __syncthreads();
  if (i == 0) {
    float all = 0;
    for (int warp = 0; warp < n / 32; ++warp) all += sums[warp];
    *loss = all / n;
  }
}
// dx = dy w, dw = dy^T x, db = the sum of the rows of dy: a thread for each element of dw, then of dx, then of db.
extern "C" __global__ void linear_bwd(const float* x, const float* w, const float* dy, float* dx, float* dw, float* db, int rows, int into, int out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float sum = 0;
  if (i < out * into) {
    for (int r = 0; r < rows; ++r) sum += dy[r * out + i / into] * x[r * into + i % into];
    dw[i] = sum;
  } else if ((i -= out * into) < rows * into) {
    for (int k = 0; k < out; ++k) sum += dy[i / into * out + k] * w[k * into + i % into];
    dx[i] = sum;
  } else if ((i -= rows * into) < out) {
    for (int r = 0; r < rows; ++r) sum += dy[r * out + i];
    db[i] = sum;
  }
}
extern "C" __global__ void adam(float* p, const float* g, float* m, float* v, const float* scalars, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  m[i] = 0.9f * m[i] + 0.1f * g[i];
  v[i] = 0.999f * v[i] + 0.001f * g[i] * g[i];
  p[i] -= scalars[0] * m[i] * scalars[1] / (sqrtf(v[i] * scalars[2]) + 1e-8f);
}
"""


def compiled(nvrtc):
    """Compiles SOURCE to PTX for GPUs from sm_80 on."""
    library, program, size = ctypes.CDLL(nvrtc), ctypes.c_void_p(), ctypes.c_size_t()
    if library.nvrtcCreateProgram(ctypes.byref(program), SOURCE.encode(), b"mlp.cu", 0, None, None):
        raise SystemExit("driver_mlp: NVRTC made no program")
    options = (ctypes.c_char_p * 1)(b"--gpu-architecture=compute_80")
    if library.nvrtcCompileProgram(program, 1, options):
        library.nvrtcGetProgramLogSize(program, ctypes.byref(size))
        log = ctypes.create_string_buffer(size.value)
        library.nvrtcGetProgramLog(program, log)
        raise SystemExit(f"driver_mlp: {log.value.decode()}")
    library.nvrtcGetPTXSize(program, ctypes.byref(size))
    ptx = ctypes.create_string_buffer(size.value)
    library.nvrtcGetPTX(program, ptx)
    return ptx.value


class DriverMlp:
    """The captured step with drawn content. launch() issues one step."""

    def __init__(self, ptx):
        self.driver = ctypes.CDLL("libcuda.so.1")
        self.stream, self.exec, module, context, graph = (ctypes.c_void_p() for _ in range(5))
        self._need("cuInit", 0)
        self._need("cuDevicePrimaryCtxRetain", ctypes.byref(context), 0)
        self._need("cuCtxSetCurrent", context)
        self._need("cuModuleLoadData", ctypes.byref(module), ptx)
        self._need("cuStreamCreate", ctypes.byref(self.stream), 1)
        self.module, draw = module, np.random.default_rng(0)
        self.host = {"x": draw.normal(size=(ROWS, INTO)), "target": draw.normal(size=(ROWS, OUT)), "w0": draw.normal(size=(HIDDEN, INTO)) * 0.1,
                     "w1": draw.normal(size=(OUT, HIDDEN)) * 0.1, "b0": np.zeros(HIDDEN), "b1": np.zeros(OUT), "scalars": np.array([1e-3, 10.0, 1000.0])}
        self.host = {name: array.astype(np.float32) for name, array in self.host.items()}
        for name, like in (("h", (ROWS, HIDDEN)), ("r", (ROWS, HIDDEN)), ("dr", (ROWS, HIDDEN)), ("dh", (ROWS, HIDDEN)), ("y", (ROWS, OUT)),
                           ("dy", (ROWS, OUT)), ("dx", (ROWS, INTO)), ("loss", (1,))):
            self.host[name] = np.zeros(like, np.float32)
        for name in ("w0", "b0", "w1", "b1"):
            self.host.update({kind + name: np.zeros_like(self.host[name]) for kind in "dmv"})
        self.at = {name: self._uploaded(array) for name, array in self.host.items()}
        self._need("cuStreamBeginCapture_v2", self.stream, 0)
        self._step()
        self._need("cuStreamEndCapture", self.stream, ctypes.byref(graph))
        self._need("cuGraphInstantiateWithFlags", ctypes.byref(self.exec), graph, ctypes.c_ulonglong(0))

    def _need(self, name, *args):
        code = getattr(self.driver, name)(*args)
        if code:
            raise SystemExit(f"driver_mlp: {name} failed with {code}")

    def _uploaded(self, array):
        address = ctypes.c_uint64()
        self._need("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(array.nbytes))
        self._need("cuMemcpyHtoD_v2", address, array.ctypes.data_as(ctypes.c_void_p), ctypes.c_size_t(array.nbytes))
        return address

    def _call(self, entry, threads, block, *args):
        function, kept = ctypes.c_void_p(), [self.at[one] if isinstance(one, str) else ctypes.c_int(one) for one in args]
        self._need("cuModuleGetFunction", ctypes.byref(function), self.module, entry.encode())
        row = (ctypes.c_void_p * len(kept))(*[ctypes.addressof(one) for one in kept])
        self._need("cuLaunchKernel", function, -(-threads // block), 1, 1, block, 1, 1, 0, self.stream, row, None)

    def _step(self):
        self._call("linear", 32 * ROWS * HIDDEN, 256, "x", "w0", "b0", "h", ROWS, INTO, HIDDEN)
        self._call("relu", ROWS * HIDDEN, 256, "h", "r", ROWS * HIDDEN)
        self._call("linear", 32 * ROWS * OUT, 256, "r", "w1", "b1", "y", ROWS, HIDDEN, OUT)
        self._call("mse", ROWS * OUT, ROWS * OUT, "y", "target", "loss", "dy", ROWS * OUT)
        self._call("linear_bwd", OUT * HIDDEN + ROWS * HIDDEN + OUT, 256, "r", "w1", "dy", "dr", "dw1", "db1", ROWS, HIDDEN, OUT)
        self._call("relu_bwd", ROWS * HIDDEN, 256, "h", "dr", "dh", ROWS * HIDDEN)
        self._call("linear_bwd", HIDDEN * INTO + ROWS * INTO + HIDDEN, 256, "x", "w0", "dh", "dx", "dw0", "db0", ROWS, INTO, HIDDEN)
        for name in ("w0", "b0", "w1", "b1"):
            self._call("adam", self.host[name].size, 256, name, "d" + name, "m" + name, "v" + name, "scalars", self.host[name].size)

    def launch(self):
        self._need("cuGraphLaunch", self.exec, self.stream)

    def synchronize(self):
        self._need("cuStreamSynchronize", self.stream)

    def loss(self):
        found = np.empty(1, np.float32)
        self._need("cuMemcpyDtoH_v2", found.ctypes.data_as(ctypes.c_void_p), self.at["loss"], ctypes.c_size_t(4))
        return float(found[0])


def expected(host):
    """Returns the loss before the first step, in float64."""
    x, w0, w1, target = (host[name].astype(np.float64) for name in ("x", "w0", "w1", "target"))
    return float(((np.maximum(x @ w0.T, 0) @ w1.T - target) ** 2).mean())


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=("compile", "run"))
    parser.add_argument("ptx", type=pathlib.Path)
    parser.add_argument("--nvrtc", default="libnvrtc.so.13")
    chosen = parser.parse_args()
    if chosen.what == "compile":
        chosen.ptx.write_bytes(compiled(chosen.nvrtc))
        return 0
    mlp, losses = DriverMlp(chosen.ptx.read_bytes()), []
    for _ in range(3):
        mlp.launch()
        mlp.synchronize()
        losses.append(mlp.loss())
    want = expected(mlp.host)
    print(f"loss {losses[0]:.6f}, NumPy {want:.6f}; then {losses[1]:.6f}, {losses[2]:.6f}")
    return 0 if abs(losses[0] - want) < 1e-4 * want and losses[2] < losses[0] else 1


if __name__ == "__main__":
    sys.exit(main())
