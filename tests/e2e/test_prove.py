"""`gpuemu prove` through the real programs: what is proved of the examples, and what never may be."""
import json

import pytest


PROJECT = """
[runtime]
compile_flags = ["-lineinfo"]

[[kernels]]
name = "k"
source = "k.cu"
inputs = [{{ name = "x", shape = {shape} }}]
outputs = [{{ name = "y", shape = {shape} }}]
{more}
launches = [{{ entry = "k", grid = {grid}, block = {block}, shared = "{shared}", args = {args} }}]
"""
DIMS = "dims = { rows = [1, 64], cols = [1, 4096] }"


def write(gpuemu, source, shape='["rows", "cols"]', more=DIMS, grid='"rows"', block="128", args='["x", "y", "i32:cols"]', shared="0"):
    text = PROJECT.format(shape=shape, more=more, grid=grid, block=block, args=args, shared=shared)
    (gpuemu.project / "gpuemu.toml").write_text(text)
    (gpuemu.project / "k.cu").write_text('extern "C" __global__ void k' + source)


def prove(gpuemu, *arguments):
    result = gpuemu.run("prove", *arguments, "--format", "json")
    assert result.returncode == 0, result.stdout + result.stderr
    return json.loads(result.stdout)


def accesses(gpuemu, space="global"):
    """(line, proved, reason) of each access."""
    (launch,) = prove(gpuemu, "k")["launches"]
    assert not launch.get("error"), launch
    return [(one["line"], one["proved"], one.get("reason", "")) for one in launch["accesses"] if one["space"] == space]


def test_most_accesses_of_the_examples_are_proved_and_those_of_the_planted_fault_are_not(gpuemu):
    report = prove(gpuemu)
    assert report["total"] == sum(len(one["accesses"]) for one in report["launches"])
    assert report["proved"] == sum(access["proved"] for one in report["launches"] for access in one["accesses"])
    assert report["proved"] >= 0.8 * report["total"], [one for one in report["launches"]]
    by_op = {}
    for launch in report["launches"]:
        assert not launch.get("error"), launch
        by_op.setdefault(launch["op_name"], []).extend(launch["accesses"])
    for access in by_op["scale_missing_tail_mask"]:
        assert not access["proved"] and access["reason"].startswith("may end behind") and access["line"] > 0, access
    for op in ("vector_add", "gelu", "softmax", "layernorm", "rmsnorm", "matmul"):
        assert all(access["proved"] for access in by_op[op]), (op, by_op[op])


LOOP = "(const float* x, float* y, int cols) {\n#pragma unroll 1\n  for (int i = %s; i %s; i += %s)\n    y[blockIdx.x * cols + %s] = x[%s * cols + i];\n}\n"
RIGHT = ("threadIdx.x", "< cols", "128", "i", "blockIdx.x")
WRONG = [("threadIdx.x", "<= cols", "128", "i", "blockIdx.x"), ("threadIdx.x", "< cols + 1", "128", "i", "blockIdx.x"),
         ("threadIdx.x", "< cols", "128", "i + 1", "blockIdx.x"), ("(int)threadIdx.x - 1", "< cols", "128", "i", "blockIdx.x"),
         ("threadIdx.x", "< cols", "128", "i", "(blockIdx.x + 1)"), ("threadIdx.x", "!= cols", "128", "i", "blockIdx.x"),
         ("threadIdx.x", "< cols", "-128", "i", "blockIdx.x"), ("threadIdx.x", "< gridDim.x", "128", "i", "blockIdx.x")]  # fmt: skip


def test_a_loop_over_a_row_is_proved(gpuemu):
    write(gpuemu, LOOP % RIGHT)
    assert all(proved for _, proved, _ in accesses(gpuemu)), accesses(gpuemu)


@pytest.mark.parametrize("words", WRONG)
def test_a_loop_that_is_off_is_not(gpuemu, words):
    write(gpuemu, LOOP % words)
    found = accesses(gpuemu)
    assert found and not all(proved for _, proved, _ in found), found
    assert all(reason for _, proved, reason in found if not proved)


def test_an_index_that_data_decide_is_not_proved(gpuemu):
    write(gpuemu, "(const float* x, float* y, int cols) {\n  if (threadIdx.x < cols)\n    y[threadIdx.x] = x[(int)x[threadIdx.x]];\n}\n",
          shape='["cols"]', more="dims = { cols = [1, 100] }", grid="1")  # fmt: skip
    reasons = [reason for _, proved, reason in accesses(gpuemu) if not proved]
    assert len(reasons) == 1 and reasons[0].startswith("the index: ") and "mul.wide" in reasons[0], reasons


def test_an_index_that_may_leave_32_bits_is_not_proved(gpuemu):
    body = "(const float* x, float* y, int n) {\n  int i = blockIdx.x * 256 + threadIdx.x;\n  if (i * 65537 < n && i * 65537 >= 0) y[i] = x[i];\n}\n"
    write(gpuemu, body, shape='["n"]', more="dims = { n = [1, 100000000] }", grid='"cdiv(n, 256)"', block="256", args='["x", "y", "i32:n"]')
    assert not any(proved for _, proved, _ in accesses(gpuemu))


def test_strides_attrs_shared_memory_and_several_dims_count(gpuemu):
    body = """(const float* x, float* y, int rows, int cols, long long ldx, long long ldy, int tile) {
  extern __shared__ float row[];
  int i = blockIdx.x * tile + threadIdx.x;
  row[threadIdx.x] = 0;
  if (i >= rows) return;
  for (int j = 0; j < cols; ++j) y[i * ldy + j] = x[i * ldx + j];
  row[threadIdx.x + 1] = 0;
}
"""
    more = DIMS + '\nattrs = { tile = { type = "int32", values = [32, 64, 96] } }'
    args = '["x", "y", "i32:rows", "i32:cols", "i64:stride(x, 0)", "i64:stride(y, 0)", "i32:tile"]'
    write(gpuemu, "  " + body, more=more, grid='"cdiv(rows, tile)"', block='"tile"', args=args, shared="tile * 4")
    assert [proved for _, proved, _ in accesses(gpuemu, "shared")] == [True, False]
    reason = [reason for _, proved, reason in accesses(gpuemu, "shared") if not proved][0]
    assert "(with tile = 32)" in reason, reason
    assert any(proved for _, proved, _ in accesses(gpuemu))


def test_a_gate_and_wrong_use(gpuemu):
    low = gpuemu.run("prove", "scale_missing_tail_mask", "--proved-min", "50")
    assert low.returncode == 1 and "0 of 2 accesses proved" in low.stdout, low.stdout + low.stderr
    assert gpuemu.run("prove", "vector_add", "--proved-min", "100").returncode == 0
    for arguments, said in [(["nothing"], "nothing"), (["softmax", "--dtype", "float7"], "--dtype"),
                            (["softmax", "--dtype", "float16"], "is not tested with float16"),
                            (["softmax", "--kernel", "gelu"], "no kernel 'gelu'"), (["--proved-min", "101"], "101")]:  # fmt: skip
        result = gpuemu.run("prove", *arguments)
        assert result.returncode == 2 and said in result.stderr, (arguments, result.stderr)


def test_a_kernel_that_does_not_compile_is_told_beside_the_others(gpuemu):
    (gpuemu.project / "kernels" / "gelu.cu").write_text("this is no kernel")
    report = prove(gpuemu)
    errors = {one["op_name"] for one in report["launches"] if one.get("error")}
    assert errors == {"gelu"} and report["proved"] > 0
