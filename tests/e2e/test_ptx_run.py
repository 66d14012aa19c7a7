"""libgpuemu-ptx.so.1: ptx_run(), which runs PTX on the memory of the host."""
import subprocess
import sys

from conftest import BIN

FOLDER = BIN.parent / "lib/gpuemu/drop-in"
CLIENT = '''
import ctypes, sys

run = ctypes.CDLL("libgpuocelot.so").ptx_run
PTX = b"""
.version 7.0
.target sm_70
.address_size 64
.visible .entry scale(.param .u64 x, .param .u32 n, .param .f32 by) {
  .reg .b32 %r<4>; .reg .b64 %rd<3>; .reg .f32 %f<3>; .reg .pred %p;
  ld.param.u64 %rd1, [x]; ld.param.u32 %r1, [n]; ld.param.f32 %f1, [by];
  mov.u32 %r2, %ctaid.x; mov.u32 %r3, %tid.x; shl.b32 %r2, %r2, 5; add.u32 %r2, %r2, %r3;
  setp.ge.u32 %p, %r2, %r1; @%p ret;
  mul.wide.u32 %rd2, %r2, 4; add.u64 %rd1, %rd1, %rd2;
  ld.global.f32 %f2, [%rd1]; mul.f32 %f2, %f2, %f1; st.global.f32 [%rd1], %f2; ret;
}
"""


def scale(address, count, by, source=PTX, more=()):
    bits = ctypes.c_uint32.from_buffer(ctypes.c_float(by)).value
    values = [address, count, bits, *more]
    return run(source, len(values), (ctypes.c_void_p * len(values))(*values), 32, 1, 1, 3, 1, 1, 0)


for turn in range(3):
    x = (ctypes.c_float * 70)(*range(70))
    assert scale(ctypes.addressof(x), 70, 2.5) == 0
    assert list(x) == [2.5 * one for one in range(70)]
'''


def client(more, *words):
    return subprocess.run([*words, sys.executable, "-c", CLIENT + more], capture_output=True, text=True, timeout=120,
                          env={"PATH": "/usr/bin:/bin", "LD_LIBRARY_PATH": str(FOLDER)})


def test_a_kernel_runs_on_the_memory_of_the_host():
    done = client("print('right')")
    assert (done.returncode, done.stdout) == (0, "right\n"), done.stderr
    assert (FOLDER / "libgpuocelot.so").resolve() == (FOLDER / "libgpuemu-ptx.so.1").resolve()


def test_faults_give_the_code_of_the_driver_and_say_what_is_wrong():
    done = client("print(scale(64, 70, 2.0))")
    assert done.stdout == "700\n" and "ptx_run: the kernel failed" in done.stderr and "error[OutOfBounds]" in done.stderr, done.stderr
    done = client("print(scale(0, 1, 1.0, b'.version 7.0'), scale(0, 1, 1.0, PTX.replace(b'%f2, %f1;', b'%f9, %f1;')))")
    assert done.stdout.split() == ["218", "218"] and "cannot load the PTX" in done.stderr and "%f9" in done.stderr, done.stdout + done.stderr
    done = client("print(scale(ctypes.addressof(x), 70, 2.0, more=[1]), run(None, 0, None, 1, 1, 1, 1, 1, 1, 0))")
    assert done.stdout.split() == ["1", "1"] and "has 3 parameters; there are 4 arguments" in done.stderr, done.stderr


def test_below_gpuemu_run_the_findings_are_in_the_report():
    done = client("print(scale(64, 70, 2.0))", BIN / "gpuemu", "run", "--")
    assert done.returncode == 1 and "error[OutOfBounds]" in done.stderr and "1 finding in 1 kernel, 4 launches" in done.stderr, done.stderr
