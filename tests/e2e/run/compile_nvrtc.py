"""Compiles a kernel with NVRTC in the way that the first argument names, runs it, and prints its last value."""
import ctypes
import sys

how = sys.argv[1]
nvrtc, cuda = ctypes.CDLL("libnvrtc.so.13"), ctypes.CDLL("libcuda.so.1")
size = ctypes.c_size_t
SOURCE = b"""extern "C" __global__ void fill(float* x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i <= n) x[i] = 2.0f * i;
}
"""
OPTIONS = {"machine code": ["--gpu-architecture=sm_80"], "two words": ["-arch", "sm_80"], "text": ["-arch=compute_80"], "link time": ["-arch=sm_80", "-dlto"],
           "wrong": ["-arch=sm_80", "--no-such-option"]}[how]  # fmt: skip


def compiled(program):
    options = [option.encode() for option in OPTIONS]
    code = nvrtc.nvrtcCompileProgram(program, len(options), (ctypes.c_char_p * len(options))(*options))
    if code != 0:
        length = size(0)
        assert nvrtc.nvrtcGetProgramLogSize(program, ctypes.byref(length)) == 0
        log = ctypes.create_string_buffer(length.value)
        assert nvrtc.nvrtcGetProgramLog(program, log) == 0
        nvrtc.nvrtcGetErrorString.restype = ctypes.c_char_p
        print(nvrtc.nvrtcGetErrorString(code).decode(), log.value.decode().strip())
        raise SystemExit(3)
    for name in ("CUBIN", "LTOIR", "PTX"):
        length = size(0)
        assert getattr(nvrtc, f"nvrtcGet{name}Size")(program, ctypes.byref(length)) == 0
        if length.value > 1:
            made = ctypes.create_string_buffer(length.value)
            assert getattr(nvrtc, f"nvrtcGet{name}")(program, made) == 0
            return name, made
    raise AssertionError("nothing was made")


def linked(code):
    link, handle, length = ctypes.CDLL("libnvJitLink.so.13"), ctypes.c_void_p(), size(0)
    options = (ctypes.c_char_p * 2)(b"-arch=sm_80", b"-lto")
    assert link.nvJitLinkCreate(ctypes.byref(handle), 2, options) == 0
    assert link.nvJitLinkAddData(handle, 3, code, size(len(code)), b"fill") == 0 and link.nvJitLinkComplete(handle) == 0
    assert link.nvJitLinkGetLinkedCubinSize(handle, ctypes.byref(length)) == 0
    image = ctypes.create_string_buffer(length.value)
    assert link.nvJitLinkGetLinkedCubin(handle, image) == 0
    return image


program = ctypes.c_void_p()
code = nvrtc.nvrtcCreateProgram(ctypes.byref(program), SOURCE, b"fill.cu", 0, None, None)
if code != 0:
    print("no program", code)
    raise SystemExit(4)
name, image = compiled(program)
if name == "LTOIR":
    image = linked(image)
assert nvrtc.nvrtcDestroyProgram(ctypes.byref(program)) == 0

context, module, function, x = (ctypes.c_void_p() for _ in range(4))
assert cuda.cuInit(0) == 0 and cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) == 0
assert cuda.cuCtxSetCurrent(context) == 0 and cuda.cuModuleLoadData(ctypes.byref(module), image) == 0
assert cuda.cuModuleGetFunction(ctypes.byref(function), module, b"fill") == 0
assert cuda.cuMemAlloc_v2(ctypes.byref(x), size(400)) == 0
count = ctypes.c_int(100 if "outside" in sys.argv else 99)
arguments = (ctypes.c_void_p * 2)(ctypes.addressof(x), ctypes.addressof(count))
assert cuda.cuLaunchKernel(function, 4, 1, 1, 32, 1, 1, 0, None, arguments, None) == 0
values = (ctypes.c_float * 100)()
copied = cuda.cuMemcpyDtoH_v2(values, x, size(400))
print(name, copied or values[99])
