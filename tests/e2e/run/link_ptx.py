"""Links two PTX texts through nvJitLink and runs the result."""
import ctypes

link, cuda = ctypes.CDLL("libnvJitLink.so.13"), ctypes.CDLL("libcuda.so.1")
HEAD = b".version 7.0\n.target sm_70\n.address_size 64\n"
TWICE = HEAD + b"""
.visible .func (.param .b32 r) twice(.param .b32 a) {
  .reg .b32 %r<2>;
  ld.param.b32 %r1, [a]; add.s32 %r1, %r1, %r1; st.param.b32 [r], %r1; ret;
}"""
ENTRY = HEAD + b"""
.extern .func (.param .b32 r) twice(.param .b32 a);
.visible .entry k(.param .u64 x) {
  .reg .b32 %r<2>; .reg .b64 %rd<2>;
  ld.param.u64 %rd1, [x]; mov.b32 %r1, 21;
  { .param .b32 p0; .param .b32 p1; st.param.b32 [p0], %r1; call (p1), twice, (p0); ld.param.b32 %r1, [p1]; }
  st.global.u32 [%rd1], %r1; ret;
}"""
PTX, CUBIN, LIBRARY = 2, 1, 6
size = ctypes.c_size_t


def create(*options):
    made = ctypes.c_void_p()
    return link.nvJitLinkCreate(ctypes.byref(made), len(options), (ctypes.c_char_p * len(options))(*options)), made


print(create(b"-O3")[0], create(b"-arch=sm_80", b"-fast")[0])
_, handle = create(b"-arch=sm_80", b"-O3")
print([link.nvJitLinkAddData(handle, PTX, text, size(len(text)), b"text") for text in (TWICE, ENTRY)])
print(link.nvJitLinkAddData(handle, CUBIN, b"\x7fELF", size(4), b"machine code"))


def load(linker, *inputs):
    """Links the inputs, which are pairs of a kind and bytes, and loads the module."""
    for at, (kind, data) in enumerate(inputs):
        assert link.nvJitLinkAddData(linker, kind, data, size(len(data)), b"input %d" % at) == 0
    assert link.nvJitLinkComplete(linker) == 0
    bytes_made = size(0)
    assert link.nvJitLinkGetLinkedCubinSize(linker, ctypes.byref(bytes_made)) == 0
    made = ctypes.create_string_buffer(bytes_made.value)
    assert link.nvJitLinkGetLinkedCubin(linker, made) == 0 and link.nvJitLinkDestroy(ctypes.byref(linker)) == 0
    assert cuda.cuModuleLoadData(ctypes.byref(module), made) == 0


def run_kernel():
    """Runs the kernel k of the module on one number, which it returns."""
    assert cuda.cuModuleGetFunction(ctypes.byref(function), module, b"k") == 0
    arguments = (ctypes.c_void_p * 1)(ctypes.addressof(x))
    assert cuda.cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, None, arguments, None) == 0
    assert cuda.cuMemcpyDtoH_v2(ctypes.byref(value), x, size(4)) == 0
    return value.value


def log_of(linker):
    length = size(0)
    assert link.nvJitLinkGetErrorLogSize(linker, ctypes.byref(length)) == 0
    log = ctypes.create_string_buffer(length.value)
    link.nvJitLinkGetErrorLog(linker, log)
    return log.value.decode().strip()


print(log_of(handle))
length = size(0)
print(link.nvJitLinkGetLinkedCubinSize(handle, ctypes.byref(length)), link.__getattr__("__nvJitLinkComplete_13_0")(handle))
assert link.nvJitLinkGetLinkedCubinSize(handle, ctypes.byref(length)) == 0
image = ctypes.create_string_buffer(length.value)
assert link.nvJitLinkGetLinkedCubin(handle, image) == 0 and link.nvJitLinkDestroy(ctypes.byref(handle)) == 0

context, module, function, x = (ctypes.c_void_p() for _ in range(4))
value = ctypes.c_int()
assert cuda.cuInit(0) == 0 and cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) == 0
assert cuda.cuCtxSetCurrent(context) == 0 and cuda.cuModuleLoadData(ctypes.byref(module), image) == 0
assert cuda.cuMemAlloc_v2(ctypes.byref(x), size(4)) == 0
print(run_kernel())

# The definition has no result, although the caller declares one.
_, handle = create(b"-arch=sm_80")
VOID = HEAD + b".visible .func twice(.param .b32 a) { ret; }"
for name, text in ((b"twice.ptx", VOID), (b"entry.ptx", ENTRY)):
    assert link.nvJitLinkAddData(handle, PTX, text, size(len(text)), name) == 0
print(link.nvJitLinkComplete(handle), log_of(handle))
load(handle)

# A kernel that asks for the grid and does not wait for it. The archive is none: its member's name says what it has.
_, handle = create(b"-arch=sm_80")
GRID = HEAD + b"""
.extern .func (.param .b64 r) cudaCGGetIntrinsicHandle(.param .b32 scope);
.visible .entry k(.param .u64 x) {
  .reg .b64 %rd<3>;
  ld.param.u64 %rd1, [x];
  { .param .b32 p0; .param .b64 p1; st.param.b32 [p0], 1; call (p1), cudaCGGetIntrinsicHandle, (p0); ld.param.b64 %rd2, [p1]; }
  st.global.u32 [%rd1], %rd2; ret;
}"""
load(handle, (PTX, GRID), (LIBRARY, b"!<arch>\ncuda_device_runtime.o/"))
print(run_kernel())

# Of a name that is defined twice nvJitLink uses one definition; the driver refuses it.
_, handle = create(b"-arch=sm_80")
linker, linked = ctypes.c_void_p(), ctypes.c_void_p()
assert cuda.cuLinkCreate_v2(0, None, None, ctypes.byref(linker)) == 0
for name in (b"first.ptx", b"second.ptx"):
    assert link.nvJitLinkAddData(handle, PTX, TWICE, size(len(TWICE)), name) == 0
    assert cuda.cuLinkAddData_v2(linker, 1, TWICE, size(len(TWICE)), name, 0, None, None) == 0
print(link.nvJitLinkComplete(handle), log_of(handle))
print(cuda.cuLinkComplete(linker, ctypes.byref(linked), ctypes.byref(length)))
assert link.nvJitLinkDestroy(ctypes.byref(handle)) == 0 and cuda.cuLinkDestroy(linker) == 0
