"""Tensor maps that a kernel makes by tensormap.replace, and mistakes with tensor maps and their mbarriers."""
import sys

import pytest

from test_run import document

# Makes a map of x in shared memory, puts it into `room`, and copies the box at (column, 0) to `out`: 8 rows of 16 integers.
PROGRAM = '''
import ctypes as c
import sys

cuda = c.CDLL("libcuda.so.1")
P, S = c.c_void_p, c.c_size_t
PTX = b"""
.version 8.5
.target sm_90a
.address_size 64
.visible .entry tile(.param .u64 x, .param .u64 room, .param .u64 out, .param .u32 width, .param .u32 height, .param .s32 column) {
  .reg .pred %p<3>; .reg .b32 %r<16>; .reg .b64 %rd<8>;
  .shared .align 128 .b8 made[128]; .shared .align 128 .b8 box[1024]; .shared .align 8 .b64 bar;
  ld.param.u64 %rd1, [x]; ld.param.u64 %rd2, [room]; ld.param.u64 %rd3, [out];
  ld.param.u32 %r1, [width]; ld.param.u32 %r2, [height]; ld.param.s32 %r3, [column];
  mov.u32 %r4, %tid.x; setp.ne.u32 %p1, %r4, 0;
  mov.u32 %r5, made; shl.b32 %r6, %r4, 2; add.u32 %r7, %r5, %r6; st.shared.b32 [%r7], 0;
  bar.warp.sync -1;
  @%p1 bra MADE;
  tensormap.replace.tile.global_address.shared::cta.b1024.b64 [made], %rd1;
  tensormap.replace.tile.rank.shared::cta.b1024.b32 [made], 1;
  tensormap.replace.tile.box_dim.shared::cta.b1024.b32 [made], 0, 16;
  tensormap.replace.tile.box_dim.shared::cta.b1024.b32 [made], 1, 8;
  tensormap.replace.tile.global_dim.shared::cta.b1024.b32 [made], 0, %r1;
  tensormap.replace.tile.global_dim.shared::cta.b1024.b32 [made], 1, %r2;
  mul.wide.u32 %rd4, %r1, 4;
  tensormap.replace.tile.global_stride.shared::cta.b1024.b64 [made], 0, %rd4;
  tensormap.replace.tile.element_stride.shared::cta.b1024.b32 [made], 0, 1;
  tensormap.replace.tile.element_stride.shared::cta.b1024.b32 [made], 1, 1;
  tensormap.replace.tile.elemtype.shared::cta.b1024.b32 [made], 3;
  tensormap.replace.tile.interleave_layout.shared::cta.b1024.b32 [made], 0;
  tensormap.replace.tile.swizzle_mode.shared::cta.b1024.b32 [made], 0;
  tensormap.replace.tile.fill_mode.shared::cta.b1024.b32 [made], 0;
MADE:
  bar.warp.sync -1;
  tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%rd2], [made], 128;
  fence.proxy.tensormap::generic.acquire.gpu [%rd2], 128;
  @%p1 bra WAIT;
  mbarrier.init.shared::cta.b64 [bar], 1; fence.mbarrier_init.release.cluster;
  mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 512;
  cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [box], [%rd2, {%r3, 0}], [bar];
WAIT:
  bar.sync 0;
LOOP:
  mbarrier.try_wait.parity.shared::cta.b64 %p2, [bar], 0; @!%p2 bra LOOP;
  mov.u32 %r8, box; shl.b32 %r9, %r4, 4; add.u32 %r8, %r8, %r9; cvt.u64.u32 %rd5, %r9; add.u64 %rd3, %rd3, %rd5;
  ld.shared.v4.b32 {%r10, %r11, %r12, %r13}, [%r8]; st.global.v4.b32 [%rd3], {%r10, %r11, %r12, %r13};
  ret;
}
"""


def check(code):
    assert code == 0, code


def made(call, *arguments):
    handle = P()
    check(call(c.byref(handle), *arguments))
    return handle


check(cuda.cuInit(0))
check(cuda.cuCtxSetCurrent(made(cuda.cuDevicePrimaryCtxRetain, 0)))
function = made(cuda.cuModuleGetFunction, made(cuda.cuModuleLoadData, PTX), b"tile")
width, height, column = WIDTH, 6, COLUMN
values = (c.c_int * (width * height))(*range(1, width * height + 1))
x, room, out = made(cuda.cuMemAlloc_v2, S(4 * width * ROWS)), made(cuda.cuMemAlloc_v2, S(128)), made(cuda.cuMemAlloc_v2, S(512))
check(cuda.cuMemcpyHtoD_v2(x, values, S(4 * width * min(height, ROWS))))
numbers = [c.c_uint32(width), c.c_uint32(height), c.c_int32(column)]
check(cuda.cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, None, (P * 6)(*(c.addressof(one) for one in (x, room, out, *numbers))), None))
code = cuda.cuCtxSynchronize()
tile = (c.c_int * 128)()
check(cuda.cuMemcpyDtoH_v2(tile, out, S(512)))
inside = lambda row, i: row < height and 0 <= column + i < width
wanted = [values[row * width + column + i] if inside(row, i) else 0 for row in range(8) for i in range(16)]
print(code, list(tile) == wanted)
'''


def run(tmp_path, *changes, width=20, column=8, rows=6):
    text = PROGRAM.replace("WIDTH", str(width)).replace("COLUMN", str(column)).replace("ROWS", str(rows))
    for before, after in changes:
        assert before in text, before
        text = text.replace(before, after)
    program = tmp_path / "program.py"
    program.write_text(text)
    done, report = document("--arch", "sm_90a", "--launch-timeout", "60", "--", sys.executable, program)
    assert "Traceback" not in done.stderr, done.stderr
    return done.stdout, report["findings"]


@pytest.mark.parametrize("column", [0, 8, -4])
def test_a_map_that_the_kernel_makes_copies_a_box_with_zeros_outside_of_the_tensor(tmp_path, column):
    assert run(tmp_path, column=column) == ("0 True\n", [])


@pytest.mark.parametrize("changes, options, kind, words", [
    ([], {"rows": 5}, "OutOfBounds", "of 'allocation 1', which has 400 bytes"),
    ([], {"width": 18}, "DeviceFault", "none that the driver would have accepted"),
    ([], {"column": 2}, "Misaligned", "a multiple of 16 bytes"),
    ([("box_dim.shared::cta.b1024.b32 [made], 0, 16", "box_dim.shared::cta.b1024.b32 [made], 0, 3")], {}, "DeviceFault", "none that the driver"),
    ([("element_stride.shared::cta.b1024.b32 [made], 1, 1", "element_stride.shared::cta.b1024.b32 [made], 1, 9")], {}, "DeviceFault", "none that"),
    ([("rank.shared::cta.b1024.b32 [made], 1", "rank.shared::cta.b1024.b32 [made], 2")], {}, "DeviceFault", ""),
    ([("[%rd2, {%r3, 0}]", "[%rd1, {%r3, 0}]")], {}, "DeviceFault", "finds no tensor map"),
    ([("bytes [box],", "bytes [box+64],")], {}, "Misaligned", "a multiple of 128"),
    ([("bytes [box], [%rd2, {%r3, 0}]", "bytes [box], [%rd2+8, {%r3, 0}]")], {}, "DeviceFault", "a multiple of 64"),
    ([("[%rd2], [made], 128;\n  fence", "[%rd2], [made+64], 128;\n  fence")], {}, "Misaligned", "a multiple of 128"),
])
def test_a_map_that_is_wrong_is_found(tmp_path, changes, options, kind, words):
    printed, findings = run(tmp_path, *changes, **options)
    first = findings[0]
    assert first["kind"] == kind and words in first["message"], findings
    assert printed.startswith({"Misaligned": "716", "OutOfBounds": "700", "DeviceFault": "700"}[kind])


def test_a_barrier_that_expects_no_bytes_does_not_wait_for_them(tmp_path):
    _, findings = run(tmp_path, ("mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 512", "mbarrier.arrive.shared::cta.b64 _, [bar]"))
    assert findings and {one["kind"] for one in findings} <= {"DataRace", "UninitializedRead", "IllegalSync"}, findings


def test_a_barrier_that_expects_more_bytes_than_come_is_a_deadlock(tmp_path):
    printed, (found,) = run(tmp_path, ("[bar], 512", "[bar], 1024"))
    assert found["kind"] in ("Deadlock", "Timeout") and printed.startswith("702"), found
