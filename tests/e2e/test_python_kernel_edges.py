"""gpuemu.Kernel: PTX that no driver takes, and launches that are interrupted."""
import os
import pathlib
import subprocess
import sys

import pytest

gpuemu = pytest.importorskip("gpuemu")
pytestmark = pytest.mark.usefixtures("device_program")
ROOT = pathlib.Path(__file__).resolve().parents[2]


def test_ctrl_c_ends_the_launch_and_the_device_can_be_used_again():
    program = f"""
import os, signal, threading, numpy as np, gpuemu
signal.signal(signal.SIGINT, signal.default_int_handler)  # Who starts tests in the background has it ignored.
kernel = gpuemu.Kernel("__global__ void busy(volatile unsigned* p) {{ while (p[0] == 0) p[1] += 3; }}", "busy", timeout_ms=60000)
threading.Timer(1.0, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
try:
    kernel[1, 1](np.zeros(2, np.uint32))
except KeyboardInterrupt:
    kernel[1, 1](np.ones(2, np.uint32))
    print("again")
"""
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=50,
                         env={**os.environ, "PYTHONPATH": str(ROOT / "python")})
    assert run.stdout == "again\n", run.stderr

def test_ptx_of_an_unknown_version_or_target_is_run_with_a_warning():
    ptx = ".version 99.0\n.target sm_999\n.address_size 64\n.visible .entry k() { ret; }\n"
    with pytest.warns(UserWarning) as told:
        kernel = gpuemu.Kernel(ptx, "k")
    kernel[1, 32]()
    said = [str(one.message) for one in told]
    assert any("line 1: .version 99.0 is newer than the newest known" in text for text in said), said
    assert any("line 2: .target sm_999 is not a known architecture" in text for text in said), said
    with pytest.raises(gpuemu.DeviceError, match="addresses of 32 bits, expected 64"):
        gpuemu.Kernel(ptx.replace("address_size 64", "address_size 32"), "k")
