"""Numba kernels compiled to PTX without a GPU: python3 numba_kernels.py FOLDER. Needs numba from PyPI; nothing runs."""
import math
import pathlib
import sys

from numba import cuda, float32, float64, int32, int64, void

KERNELS = []


def kernel(signature):
    def add(function):
        KERNELS.append((function, signature))
        return function
    return add


@kernel(void(float32[:], float32[:], float32[:], float32))
def saxpy(x, y, out, a):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = a * x[i] + y[i]


@kernel(void(float32[:, :], float32[:, :], float32[:, :]))
def matmul(a, b, c):
    left = cuda.shared.array((16, 16), float32)
    right = cuda.shared.array((16, 16), float32)
    x, y = cuda.grid(2)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    total = float32(0)
    for i in range((a.shape[1] + 15) // 16):
        left[ty, tx] = a[y, tx + i * 16] if y < a.shape[0] and tx + i * 16 < a.shape[1] else 0
        right[ty, tx] = b[ty + i * 16, x] if x < b.shape[1] and ty + i * 16 < b.shape[0] else 0
        cuda.syncthreads()
        for j in range(16):
            total += left[ty, j] * right[j, tx]
        cuda.syncthreads()
    if y < c.shape[0] and x < c.shape[1]:
        c[y, x] = total


@kernel(void(float64[:], float64[:], int64[:]))
def math_functions(x, y, i):
    at = cuda.grid(1)
    if at < x.size:
        v = x[at]
        y[at] = (math.sin(v) + math.exp(v) + math.log(v) + math.sqrt(v) + math.pow(v, 1.5) + math.erf(v) +
                 math.floor(v) + math.atan2(v, 2.0) + v % 3.0 + v // 2.0)
        i[at] = i[at] // 7 + i[at] % 5 + (i[at] << 3) + cuda.popc(i[at]) + cuda.clz(i[at]) + cuda.brev(i[at])


@kernel(void(int32[:], int32[:]))
def histogram(x, bins):
    local = cuda.shared.array(64, int32)
    if cuda.threadIdx.x < 64:
        local[cuda.threadIdx.x] = 0
    cuda.syncthreads()
    for at in range(cuda.grid(1), x.size, cuda.gridsize(1)):
        cuda.atomic.add(local, x[at] & 63, 1)
    cuda.syncthreads()
    if cuda.threadIdx.x < 64:
        cuda.atomic.add(bins, cuda.threadIdx.x, local[cuda.threadIdx.x])
        cuda.atomic.max(bins, 64, local[cuda.threadIdx.x])
        cuda.atomic.cas(bins, 65, 0, 1)


@kernel(void(float32[:], float32[:]))
def warp_sum(x, out):
    v = x[cuda.grid(1)]
    step = 16
    while step > 0:
        v += cuda.shfl_down_sync(0xffffffff, v, step)
        step //= 2
    if cuda.laneid == 0 and cuda.all_sync(0xffffffff, v == v):
        cuda.atomic.add(out, 0, v)
    cuda.threadfence()
    cuda.syncwarp()


def compile_all(folder, capabilities=((8, 0), (9, 0))):
    folder.mkdir(parents=True, exist_ok=True)
    made = []
    for function, signature in KERNELS:
        for major, minor in capabilities:
            ptx, _ = cuda.compile_ptx(function, signature, cc=(major, minor), abi="numba", device=False)
            path = folder / f"numba_{function.__name__}_sm{major}{minor}.ptx"
            path.write_text(ptx)
            made.append(path)
    return made


if __name__ == "__main__":
    print(len(compile_all(pathlib.Path(sys.argv[1]))), "PTX files")
