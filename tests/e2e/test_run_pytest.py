"""pytest --gpuemu without a framework: what a kernel does wrong counts for the test that launched it, also when the test did not wait."""
import os
import subprocess
import sys

from conftest import BIN, ROOT

DRIVER = '''
import ctypes

PTX = b""".version 7.0
.target sm_75
.address_size 64
.visible .entry late(.param .u64 x)
{
	.reg .pred %p<2>;
	.reg .b32 %r<3>;
	.reg .b64 %rd<3>;
	ld.param.u64 %rd1, [x];
	cvta.to.global.u64 %rd2, %rd1;
	mov.u32 %r1, 2000000;
WAIT:
	sub.u32 %r1, %r1, 1;
	setp.ne.u32 %p1, %r1, 0;
	@%p1 bra WAIT;
	st.global.u32 [%rd2+64], %r1;
	ret;
}
"""
cuda = ctypes.CDLL("libcuda.so.1")


def launch():
    device, context, module, kernel, memory = ctypes.c_int(), ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_uint64()
    assert cuda.cuInit(0) == 0 and cuda.cuDeviceGet(ctypes.byref(device), 0) == 0
    assert cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), device) == 0 and cuda.cuCtxSetCurrent(context) == 0
    assert cuda.cuModuleLoadData(ctypes.byref(module), PTX) == 0 and cuda.cuModuleGetFunction(ctypes.byref(kernel), module, b"late") == 0
    assert cuda.cuMemAlloc_v2(ctypes.byref(memory), ctypes.c_size_t(64)) == 0
    arguments = (ctypes.c_void_p * 1)(ctypes.cast(ctypes.pointer(memory), ctypes.c_void_p))
    assert cuda.cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, None, arguments, None) == 0
'''
TESTS = '''
import driver


def test_before():
    pass


def test_launches_and_does_not_wait():
    driver.launch()


def test_after():
    assert driver.cuda.cuCtxSynchronize() == 0  # The error was that of the test before.
'''


def pytest_in(folder, *options):
    (folder / "driver.py").write_text(DRIVER)
    (folder / "test_late.py").write_text(TESTS)
    return subprocess.run([sys.executable, "-m", "pytest", "-rA", "-p", "no:cacheprovider", "-p", "gpuemu.pytest_plugin", "--gpuemu", *options],
                          cwd=folder, capture_output=True, text=True, timeout=120,
                          env={**os.environ, "PYTHONPATH": str(ROOT / "python"), "GPUEMU_CLI": str(BIN / "gpuemu"), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"})


def test_a_test_that_does_not_wait_for_its_kernel_fails_with_what_the_kernel_did(tmp_path):
    done = pytest_in(tmp_path)
    assert done.returncode == 1, done.stdout
    assert "FAILED test_late.py::test_launches_and_does_not_wait" in done.stdout and "error[OutOfBounds]" in done.stdout, done.stdout
    assert "PASSED test_late.py::test_before" in done.stdout and "PASSED test_late.py::test_after" in done.stdout, done.stdout


def test_so_does_the_last_test_of_a_session(tmp_path):
    done = pytest_in(tmp_path, "-k", "does_not_wait")
    assert done.returncode == 1 and "FAILED test_late.py::test_launches_and_does_not_wait" in done.stdout, done.stdout
