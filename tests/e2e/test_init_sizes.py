"""`gpuemu init`: which sizes and values it proposes, and which faults these must not hide."""
import re
import tomllib

import pytest

from projects import SCALE_PTX, TWO, fill_in

TAILS = """__global__ void whole_blocks(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  y[i] = x[i];
}
__global__ void wrong_check(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float value = __shfl_xor_sync(~0u, x[i], 1);
  if (i < n) y[i] = value;
}
__global__ void no_row_check(const float* x, float* y, int rows, int cols) {
  int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
  for (int i = threadIdx.x % 32; i < cols; i += 32) y[row * cols + i] = x[row * cols + i];
}
void launch(const float* x, float* y, int rows, int cols) {
  no_row_check<<<(rows * 32 + 127) / 128, 128>>>(x, y, rows, cols);
}
"""
HOST = """void launch(const float* x, float* y, int n) {
  CHECK
  whole_blocks<<<(n + 255) / 256, 256>>>(x, y, n);
}
"""


EIGHT = """#include <cuda_fp16.h>
__global__ void checked(const half* x, half* y, int n) {
  const int at = 8 * (blockIdx.x * blockDim.x + threadIdx.x);
  if (at < n) *reinterpret_cast<float4*>(y + at) = *reinterpret_cast<const float4*>(x + at);
}
__global__ void unchecked(const half* x, half* y, int n) {
  const int at = 8 * (blockIdx.x * blockDim.x + threadIdx.x);
  float4 eight = *reinterpret_cast<const float4*>(x + at);
  eight.x = __shfl_sync(~0u, eight.x, threadIdx.x % 32);
  if (at < n) *reinterpret_cast<float4*>(y + at) = eight;
}
"""


def test_sizes_are_multiples_of_what_a_thread_takes_at_once_and_a_note_says_why(new_home):
    home = new_home({"k.cu": EIGHT})
    run = home.run("init")
    assert run.returncode == 0, run.stderr
    checked, unchecked = tomllib.loads((home.project / "gpuemu.toml").read_text())["kernels"]
    assert checked["dims"] == {"n": {"range": [8, 3000], "multiple_of": 8}}
    assert unchecked["dims"]["n"]["multiple_of"] == 8 and unchecked["launches"][0]["grid"] == ["cdiv(n, 2048)"]
    for name, why in (("checked", "each thread takes 8 elements at once, and with n = "),
                      ("unchecked", "Only multiples of 2048 ran without a finding, but its launch rounds n up, and each thread takes 8")):
        assert re.search(rf"note: {name} \(k.cu\): .*({why})", run.stderr), run.stderr
    tested = home.run("test", "--cases", 8)
    assert tested.returncode == 1 and "[PASS] checked" in tested.stdout and "[FAIL] unchecked" in tested.stdout, tested.stdout
    assert "OutOfBounds" in tested.stdout


def test_a_missing_check_of_the_tail_is_found_where_host_code_rounds_up(new_home):
    home = new_home({"k.cu": TAILS, "host.cu": HOST.replace("CHECK", "")})
    run = home.run("init")
    assert run.returncode == 0, run.stderr
    assert "Only multiples of 256 ran without a finding, but the launch at host.cu:3 rounds n up" in run.stderr, run.stderr
    assert "Only multiples of 4 ran without a finding, but the launch at k.cu:15 rounds rows up" in run.stderr, run.stderr
    done = home.run("test", "--cases", 24)
    assert done.returncode == 1, done.stdout + done.stderr
    # The failure says what it is based on.
    assert done.stdout.count("was not sure of whole_blocks: Only multiples of 256 ran") == 1, done.stdout
    assert "[FAIL] whole_blocks" in done.stdout and "[FAIL] no_row_check" in done.stdout and done.stdout.count("OutOfBounds") >= 2


@pytest.mark.parametrize("host", ["", HOST.replace("CHECK", "assert(n % 256 == 0);")])
def test_a_kernel_of_whole_blocks_passes_and_a_wrong_check_is_found(host, new_home):
    home = new_home({"k.cu": TAILS, "host.cu": host} if host else {"k.cu": TAILS})
    run = home.run("init")
    assert run.returncode == 0, run.stderr
    why = ("host.cu:3 launches it only with multiples of its block size, 256; other sizes fail." if host else
           "n is limited to multiples of the block size, 256, because the kernel does not compare an index with n.")
    assert f"note: whole_blocks (k.cu): {why}" in run.stderr, run.stderr
    kernels = {one["name"]: one for one in tomllib.loads((home.project / "gpuemu.toml").read_text())["kernels"]}
    assert kernels["whole_blocks"]["dims"]["n"]["multiple_of"] == 256 and "guess" not in kernels["whole_blocks"]
    done = home.run("test", "whole_blocks", "wrong_check", "--cases", 24)
    assert "[PASS] whole_blocks" in done.stdout and "[FAIL] wrong_check" in done.stdout, done.stdout


HIDDEN = """__global__ void turn(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  y[i] = x[i];
}
"""


@pytest.mark.parametrize("host", [
    "void run(const float* x, float* y, int n) {\n  if (!(n % 256)) { fast<<<n / 256, 256>>>(x); return; }\n  LAUNCH\n}\n",
    "void run(const float* x, float* y, int n, int mode) {\n  if (mode == 1) { if (n % 256) return; }\n  LAUNCH\n}\n",
    "namespace ops {\nvoid other(int n) { assert(n % 256 == 0); }\nvoid run(const float* x, float* y, int n) { LAUNCH }\n}\n",
    "void run(const float* x, float* y, int n, bool exact) {\n  if (exact) turn<<<n / 256, 256>>>(x, y, n);\n  else LAUNCH\n}\n"])
def test_a_check_that_does_not_hold_at_the_launch_hides_no_fault(host, new_home):
    home = new_home({"k.cu": HIDDEN, "host.cu": host.replace("LAUNCH", "turn<<<(n + 255) / 256, 256>>>(x, y, n);")})
    run = home.run("init")
    assert run.returncode == 0 and "rounds n up" in run.stderr, run.stderr
    done = home.run("test", "--cases", 24)
    assert done.returncode == 1 and "OutOfBounds" in done.stdout, done.stdout


def test_a_number_in_main_hides_no_wrong_check(new_home):
    home = new_home({"k.cu": TAILS, "main.cu": "int main() {\n  const int n = 1 << 20;\n  wrong_check<<<(n + 255) / 256, 256>>>(x, y, n);\n}\n"})
    assert home.run("init").returncode == 0
    done = home.run("test", "wrong_check", "--cases", 24)
    assert done.returncode == 1 and "[FAIL] wrong_check" in done.stdout, done.stdout


@pytest.mark.parametrize("check", ["if (i > n) return;", "if (!(i <= n)) return;", "if (n < i) return;"])
def test_an_index_that_can_equal_the_size_is_doubted_and_the_block_is_tested(check, new_home):
    home = new_home({"k.cu": HIDDEN.replace("  y[i]", f"  {check}\n  y[i]")})
    run = home.run("init")
    assert "note: turn (k.cu): An index can equal n, so x and y are declared with n + 1 elements. If yours have n, " in run.stderr, run.stderr
    values = tomllib.loads((home.project / "gpuemu.toml").read_text())["kernels"][0]["dims"]["n"]
    assert {1, 255, 256, 257} <= set(values), values
    done = home.run("test", "--cases", 24)
    assert done.returncode == 1 and "was not sure of turn: An index can equal n" in done.stdout, done.stdout


COUNTED = """__global__ void keep(const float* x, float* out, int* count, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && x[i] > 0) {
    int p = atomicAdd(count, 1);
    out[p] = x[i];
  }
}
__global__ void queue(const float* x, float* out, int* ticket, int n) {
  __shared__ int tile;
  if (threadIdx.x == 0) tile = atomicAdd(ticket, 1);
  __syncthreads();
  int i = tile * 128 + threadIdx.x;
  if (i < n) out[i] = x[n - 1 - i];
}
void run(const float* x, float* out, int* ticket, int n) { queue<<<(n + 127) / 128, 128>>>(x, out, ticket, n); }
"""


def test_elements_that_a_counter_places_have_no_order_and_a_work_queue_has_one(new_home):
    home = new_home({"k.cu": COUNTED})
    run = home.run("init")
    assert run.returncode == 0, run.stderr
    kernels = {one["name"]: one for one in tomllib.loads((home.project / "gpuemu.toml").read_text())["kernels"]}
    outs = {name: next(one for one in kernels[name]["outputs"] if one["name"] == "out") for name in kernels}
    assert outs["keep"].get("any_order") is True and outs["keep"]["init"] == 0, outs
    assert "any_order" not in outs["queue"], outs
    done = home.run("test", "--cases", 24)
    assert "[PASS] keep" in done.stdout, done.stdout
    fill_in(home, "queue", "x")
    done = home.run("test", "queue", "--cases", 8)
    assert "[FAIL] queue" in done.stdout, done.stdout


def test_ptx_with_a_block_of_two_axes_gets_both(new_home):
    text = SCALE_PTX.replace("FACTOR", TWO)
    at = text.index("{", text.index(".entry"))
    home = new_home({"scale.ptx": text[:at] + ".reqntid 16, 16, 1\n" + text[at:]})
    run = home.run("init")
    assert run.returncode == 0, run.stderr
    assert tomllib.loads((home.project / "gpuemu.toml").read_text())["kernels"][0]["launches"][0]["block"] == ["16", "16"]


MEANS = """extern "C" __global__ void centre(float* y, float* mean, const float* x, int rows, int cols) {
  int row = blockIdx.x;
  if (row >= rows) return;
  __shared__ float m;
  if (threadIdx.x == 0) {
    float sum = 0;
    for (int i = 0; i < cols; ++i) sum += x[row * cols + i];
    m = mean[row] = sum / cols;
  }
  __syncthreads();
  for (int i = threadIdx.x; i < cols; i += blockDim.x) y[row * cols + i] = x[row * cols + i] - m;
}
"""


SCATTER = """__global__ void place_rows(const float* x, const int* slot, float* y, int rows, int cols) {
  int row = blockIdx.x;
  for (int i = threadIdx.x; i < cols; i += blockDim.x) y[slot[row] * cols + i] = x[row * cols + i];
}
__global__ void add_rows(const float* x, const int* slot, float* y, int rows, int cols) {
  int row = blockIdx.x;
  for (int i = threadIdx.x; i < cols; i += blockDim.x) y[slot[row] * cols + i] += x[row * cols + i];
}
"""


def test_indices_of_rows_that_are_written_are_distinct_and_a_missing_atomic_is_found(new_home):
    home = new_home({"k.cu": SCATTER})
    assert home.run("init").returncode == 0
    config = tomllib.loads((home.project / "gpuemu.toml").read_text())
    slots = {one["name"]: next(each for each in one["inputs"] if each["name"] == "slot") for one in config["kernels"]}
    assert slots["place_rows"].get("distinct") is True and "distinct" not in slots["add_rows"], slots
    assert home.run("test", "place_rows", "--cases", 24).returncode == 0
    added = home.run("test", "add_rows", "--cases", 24)
    assert added.returncode == 1 and "DataRace" in added.stdout, added.stdout


def test_a_right_kernel_keeps_all_sizes_though_its_results_look_like_what_was_there(new_home):
    home = new_home({"k.cu": MEANS})
    assert home.run("init").returncode == 0
    assert "dims = { rows = [1, 300], cols = [1, 300] }" in (home.project / "gpuemu.toml").read_text()
