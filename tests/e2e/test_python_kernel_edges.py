"""gpuemu.Kernel: PTX that no driver takes, and launches that are interrupted."""
import os
import pathlib
import subprocess
import sys

import numpy as np
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


def test_a_warning_of_the_parser_is_told_once():
    ptx = ".version 98.0\n.target sm_80\n.address_size 64\n.visible .entry k{}() {{ ret; }}\n"
    with pytest.warns(UserWarning, match="version 98.0") as told:
        for i in range(3):
            gpuemu.Kernel(ptx.format(i), f"k{i}")
    assert len(told) == 1, [str(one.message) for one in told]


@pytest.mark.parametrize("dtype", ["complex64", "datetime64[ns]", [("re", "f4"), ("im", "f4")]])
def test_elements_of_any_size_go_to_a_pointer_whose_type_is_unknown(dtype):
    """PTX says nothing of what a pointer points to."""
    kernel = gpuemu.Kernel(""".version 7.8
.target sm_80
.address_size 64
.visible .entry swap(.param .u64 p_x) {
  .reg .b64 %rd<2>; .reg .b32 %r<3>;
  ld.param.u64 %rd1, [p_x];
  ld.global.v2.u32 {%r1, %r2}, [%rd1];
  st.global.v2.u32 [%rd1], {%r2, %r1};
  ret;
}
""", "swap")
    x = np.array([5 + 7 * 2**32], np.uint64).view(np.dtype(dtype))
    kernel[1, 1](x)
    assert x.view(np.uint64)[0] == 7 + 5 * 2**32


@pytest.mark.parametrize("place, found", [("p_flag + 2", "byte 10 of the kernel's parameters, where no parameter lies"), ("p_flag", ""), ("p_count + 2", "")])
def test_what_lies_between_parameters_is_found_where_it_is_used(place, found):
    y = np.zeros(1, np.uint32)
    kernel = gpuemu.Kernel(f""".version 7.8
.target sm_80
.address_size 64
.visible .entry gap(.param .u64 p_y, .param .u8 p_flag, .param .u32 p_count) {{
  .reg .b64 %rd<3>; .reg .b16 %rs<2>; .reg .b32 %r<2>;
  ld.param.u64 %rd1, [p_y];
  cvta.to.global.u64 %rd2, %rd1;
  ld.param.u8 %rs1, [{place}];
  cvt.u32.u16 %r1, %rs1;
  st.global.u32 [%rd2], %r1;
  ret;
}}
""", "gap")
    if not found:
        kernel[1, 1](y, 7, 0x50000)
        assert y[0] == (7 if place == "p_flag" else 5)
        return
    with pytest.raises(gpuemu.KernelError) as caught:
        kernel[1, 1](y, 7, 0x50000)
    assert found in str(caught.value) and {one.kind for one in caught.value.findings} == {"uninitialized"}, caught.value
