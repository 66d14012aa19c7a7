"""Features of Numba for CUDA, in the style of its examples: prints one line for each that works, and `passed` at the end."""
import math
import os
import tempfile
import warnings

import numpy as np
from numba import cuda, float32, int32, vectorize
from numba.cuda.random import create_xoroshiro128p_states, xoroshiro128p_uniform_float32
warnings.simplefilter("ignore")
TESTS = []


def case(test):
    TESTS.append(test)
    return test


@case
def device_function():
    @cuda.jit(device=True)
    def twice(a):
        return 2 * a
    @cuda.jit
    def k(x):
        i = cuda.grid(1)
        if i < x.size:
            x[i] = twice(x[i]) + 1
    x = np.arange(100, dtype=np.int64)
    d = cuda.to_device(x)
    k[1, 128](d)
    assert (d.copy_to_host() == 2*x+1).all()


@case
def shared_matmul():
    T = 8
    @cuda.jit
    def mm(A, B, C):
        sA = cuda.shared.array((T, T), dtype=float32)
        sB = cuda.shared.array((T, T), dtype=float32)
        x, y = cuda.grid(2)
        tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
        acc = float32(0)
        for i in range(A.shape[1] // T):
            sA[ty, tx] = A[y, tx + i*T]
            sB[ty, tx] = B[ty + i*T, x]
            cuda.syncthreads()
            for j in range(T):
                acc += sA[ty, j]*sB[j, tx]
            cuda.syncthreads()
        C[y, x] = acc
    A = np.random.rand(16, 16).astype(np.float32)
    B = np.random.rand(16,16).astype(np.float32)
    C = np.zeros((16,16), np.float32)
    mm[(2,2),(8,8)](A, B, C)
    assert np.allclose(C, A@B, rtol=1e-4)


@case
def atomics():
    @cuda.jit
    def k(x, m):
        i = cuda.grid(1)
        cuda.atomic.add(x, i % 4, 1)
        cuda.atomic.max(m, 0, i)
    x = np.zeros(4, np.int32)
    m = np.zeros(1, np.int64)
    k[2, 64](x, m)
    assert (x == 32).all() and m[0] == 127


@case
def streams_events():
    @cuda.jit
    def k(x):
        i = cuda.grid(1)
        if i < x.size:
            x[i] += 1
    s = cuda.stream()
    h = cuda.pinned_array(64, dtype=np.float32)
    h[:] = 1
    with s.auto_synchronize():
        d = cuda.to_device(h, stream=s)
        a, b = cuda.event(), cuda.event()
        a.record(s)
        k[1, 64, s](d)
        b.record(s)
        d.copy_to_host(h, stream=s)
    assert (h == 2).all()
    b.synchronize()
    assert cuda.event_elapsed_time(a, b) >= 0


@case
def views():
    @cuda.jit
    def k(x):
        i = cuda.grid(1)
        if i < x.size:
            x[i] = 7
    d = cuda.to_device(np.zeros((10, 10)))
    k[1, 32](d[3])
    k[1, 32](d[:, 4])
    k[1,32](d[::2, 0])
    h = d.copy_to_host()
    assert (h[3] == 7).all() and (h[:, 4] == 7).all() and (h[::2, 0] == 7).all() and h[1, 1] == 0


@case
def local_const():
    C = np.array([1, 2, 3, 4], dtype=np.float32)
    @cuda.jit
    def k(x):
        c = cuda.const.array_like(C); l = cuda.local.array(4, dtype=float32)
        for i in range(4):
            l[i] = c[i] * 2
        i = cuda.grid(1)
        x[i] = l[i % 4]
    x = np.zeros(8, np.float32)
    k[1, 8](x)
    assert (x == [2, 4, 6, 8]*2).all()


@case
def cooperative():
    @cuda.jit
    def k(x, y):
        g = cuda.cg.this_grid()
        i = cuda.grid(1)
        x[i] = i
        g.sync()
        y[i] = x[(i + 1) % x.size]
    x = np.zeros(64, np.int32)
    y = np.zeros(64, np.int32)
    k[2, 32](x, y)
    assert y[0] == 1 and y[63] == 0 and y[31] == 32


@case
def records():
    dt = np.dtype([("a", np.int32), ("b", np.float64)], align=True)
    @cuda.jit
    def k(r):
        i = cuda.grid(1)
        if i < r.size:
            r[i].b = r[i].a * 2.5
    r = np.zeros(10, dt)
    r["a"] = np.arange(10)
    k[1, 32](r)
    assert (r["b"] == np.arange(10)*2.5).all()


@case
def tuples():
    @cuda.jit
    def k(x, t):
        i = cuda.grid(1)
        if i < x.size:
            x[i] = t[0] + t[1]
    x = np.zeros(4)
    k[1, 4](x, (1, 2.5))
    assert (x == 3.5).all()


@case
def forall():
    @cuda.jit
    def k(x):
        i = cuda.grid(1)
        if i < x.size:
            x[i] += 1
    x = np.zeros(1000)
    k.forall(1000)(x)
    assert (x == 1).all()


@case
def ufunc():
    @vectorize(["float32(float32, float32)"], target="cuda")
    def add(a, b):
        return a + b
    x = np.arange(100, dtype=np.float32)
    assert (add(x, x) == 2*x).all()


@case
def random():
    @cuda.jit
    def k(states, out):
        i = cuda.grid(1)
        out[i] = xoroshiro128p_uniform_float32(states, i)
    st = create_xoroshiro128p_states(64, seed=1)
    o = np.zeros(64, np.float32)
    k[1, 64](st, o)
    assert len(set(o.tolist())) > 60 and 0 <= o.min() and o.max() < 1


@case
def mapped():
    @cuda.jit
    def k(x):
        x[cuda.grid(1)] += 5
    m = cuda.mapped_array(32, dtype=np.int32)
    m[:] = 1
    k[1, 32](m)
    cuda.synchronize()
    assert (m == 6).all()


@case
def managed():
    @cuda.jit
    def k(x):
        x[cuda.grid(1)] += 5
    m = cuda.managed_array(32, dtype=np.int32)
    m[:] = 1
    k[1, 32](m)
    cuda.synchronize()
    assert (m == 6).all()


@case
def math_functions():
    @cuda.jit
    def k(x, y):
        i = cuda.grid(1)
        y[i] = math.sin(x[i]) + math.exp(x[i]) + math.sqrt(x[i]) + math.pow(x[i], 1.5)
    x = np.linspace(0.1, 2, 32)
    y = np.zeros(32)
    k[1, 32](x, y)
    assert np.allclose(y, np.sin(x)+np.exp(x)+np.sqrt(x)+x**1.5)


@case
def warp():
    @cuda.jit
    def k(x):
        i = cuda.grid(1)
        v = x[i]
        for d in (16, 8, 4, 2, 1):
            v += cuda.shfl_down_sync(0xffffffff, v, d)
        if cuda.laneid == 0:
            x[0] = v
    x = np.arange(32, dtype=np.int32)
    k[1, 32](x)
    assert x[0] == 496


@case
def debug_exception():
    @cuda.jit(debug=True, opt=False)
    def k(x):
        i = cuda.grid(1)
        if i == 3:
            raise ValueError("three")
        x[i] = i
    try:
        k[1, 8](np.zeros(8))
        cuda.synchronize()
    except ValueError as e:
        assert "three" in str(e)
        return
    assert False, "no exception"


@case
def device_info():
    d = cuda.get_current_device()
    assert d.compute_capability >= (8, 0) and d.WARP_SIZE == 32
    assert "sm_80" in str(d.name)
    free, total = cuda.current_context().get_memory_info()
    assert free <= total


@case
def kernel_print():
    @cuda.jit
    def k():
        print("hello", cuda.grid(1))
    k[1, 2]()
    cuda.synchronize()


@case
def dynamic_shared():
    @cuda.jit
    def k(x):
        s = cuda.shared.array(0, dtype=int32)
        i = cuda.threadIdx.x
        s[i] = i
        cuda.syncthreads()
        x[i] = s[cuda.blockDim.x - 1 - i]
    x = np.zeros(32, np.int32)
    k[1, 32, 0, 32*4](x)
    assert (x == np.arange(32)[::-1]).all()


@case
def link_ptx():
    PTX = """.version 7.0
.target sm_80
.address_size 64
.visible .func (.param .b32 r) triple(.param .b64 out, .param .b32 a) {
.reg .b32 %a<3>; .reg .b64 %p;
ld.param.b32 %a1, [a]; mul.lo.s32 %a2, %a1, 3; ld.param.b64 %p, [out]; st.b32 [%p], %a2; mov.b32 %a1, 0; st.param.b32 [r], %a1; ret; }
"""
    p = os.path.join(tempfile.mkdtemp(), "t.ptx"); open(p, "w").write(PTX)
    triple = cuda.declare_device("triple", int32(int32))
    @cuda.jit(link=[p])
    def k(x):
        i = cuda.grid(1)
        x[i] = triple(x[i])
    x = np.arange(8, dtype=np.int32)
    k[1, 8](x)
    assert (x == 3*np.arange(8)).all()

for test in TESTS:
    test()
    print("ok", test.__name__)
print("passed")
