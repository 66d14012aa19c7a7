"""Large cases: declared sizes are run, what is not run is said, and sizes for which code does something of its own come in 24 cases."""
import json
import re

import pytest

KERNELS = """
extern "C" __global__ void scale(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = 2.0f * x[i];
}
extern "C" __global__ void narrow(const float* x, float* y, int n) {
  unsigned short block = blockIdx.x;
  int i = block * 256 + threadIdx.x;
  if (i < n) y[i] = 2.0f * x[i];
}
extern "C" __global__ void narrow_rows(const float* x, float* y, int cols) {
  unsigned short row = blockIdx.x;
  for (int i = threadIdx.x; i < cols; i += 32) y[row * cols + i] = 2.0f * x[row * cols + i];
}
extern "C" __global__ void one_size(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (n == 257 && i == n - 1) return;
  if (i < n) y[i] = 2.0f * x[i];
}
extern "C" __global__ void rest_of_one(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (n % 256 == 1 && n > 1 && i == n - 1) return;
  if (i < n) y[i] = 2.0f * x[i];
}
extern "C" __global__ void block_remainder(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  int last = n % blockDim.x == blockDim.x - 1 ? n - 1 : n;
  if (i < last) y[i] = 2.0f * x[i];
}
extern "C" __global__ void lone_thread(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && !(i == n - 1 && threadIdx.x == 0 && blockIdx.x == 1)) y[i] = 2.0f * x[i];
}
extern "C" __global__ void tile_rows(const float* x, float* y, int rows, int cols) {
  int col = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y;
  int last = rows % 48 == 47 ? rows - 1 : rows;
  if (col < cols && row < last) y[row * cols + col] = 2.0f * x[row * cols + col];
}
"""
TWICE = "def reference(x):\n    return 2 * x\n"
LINE = 'inputs = [{ name = "x", shape = ["n"] }]\noutputs = [{ name = "y", shape = ["n"] }]\n'
TABLE = 'inputs = [{ name = "x", shape = ["rows", "cols"] }]\noutputs = [{ name = "y", shape = ["rows", "cols"] }]\n'


def op(entry, dims, *, name=None, shapes=LINE, grid='"cdiv(n, 256)"', block=256, args='"x", "y", "i32:n"', more=""):
    return f"""
[[kernels]]
name = "{name or entry}"
source = "k.cu"
reference = "twice.py"
{shapes}dims = {dims}
{more}
launches = [{{ entry = "{entry}", grid = {grid}, block = {block}, args = [{args}] }}]
"""


ROWS = {"shapes": TABLE, "grid": '"rows"', "block": 32, "args": '"x", "y", "i32:cols"'}


@pytest.fixture
def project(kernel_project):
    """Writes a gpuemu.toml with these ops beside the kernels."""
    gpuemu = kernel_project({"k.cu": KERNELS, "twice.py": TWICE})

    def write(*ops, validation=""):
        (gpuemu.project / "gpuemu.toml").write_text(f"[validation]\nseed = 5\n{validation}\n" + "".join(ops))
        return gpuemu

    return write


def report_of(gpuemu, *words):
    result = gpuemu.run("test", *words, "--format", "json")
    assert result.returncode in (0, 1), result.stderr
    return json.loads(result.stdout), result.stderr


def test_a_grid_that_ends_at_256_blocks_is_found_by_default(project):
    gpuemu = project(op("scale", "{ n = [1, 4194304] }", grid='"min(256, cdiv(n, 1024))"', block=1024))
    result = gpuemu.run("test")
    assert result.returncode == 1, result.stdout
    assert "n=4194304" in result.stdout, result.stdout
    gpuemu = project(op("scale", "{ n = [1, 500000] }", grid='"min(256, cdiv(n, 1024))"', block=1024))
    assert gpuemu.run("test", "--quick").returncode == 1
    assert gpuemu.run("fuzz", "scale", "-i", "10").returncode == 1
    assert gpuemu.run("ci", "--quick").returncode == 1


def test_all_declared_sizes_are_run_and_nothing_is_said_of_them(project):
    gpuemu = project(op("scale", "{ n = [1, 1000000] }"))
    report, said = report_of(gpuemu, "--quick")
    (one,) = report["ops"]
    assert one["failed"] == 0 and one["cases"] == 10 and not one.get("notes"), one
    assert "up_to" not in one["proof"] and "declared sizes" not in said
    assert "of cases like these fail" in gpuemu.run("test", "--quick").stdout


def test_sizes_that_do_not_fit_are_a_warning_and_limit_the_confidence(project):
    gpuemu = project(op("scale", "{ n = [1, 4194304] }"))
    result = gpuemu.run("test", "--quick", "--max-elements", "300000")
    assert result.returncode == 0, result.stdout
    text = "declared sizes that no case has: n above 300000 (declared up to 4194304): a tensor would have 4194304 elements, max_elements is 300000"
    assert f"scale: {text}" in result.stderr, result.stderr
    assert text in result.stdout
    assert re.search(r"of cases like these with n up to 300000 fail", result.stdout), result.stdout
    report, _ = report_of(gpuemu, "--quick", "--max-elements", "300000")
    assert report["ops"][0]["proof"]["up_to"] == {"n": 300000}
    fuzzed = gpuemu.run("fuzz", "scale", "-i", "10", "--max-elements", "300000")
    assert "n above 300000" in fuzzed.stdout and "n above 300000" in fuzzed.stderr
    first = gpuemu.run("ci", "--quick", "--max-elements", "300000")
    again = gpuemu.run("ci", "--quick", "--max-elements", "300000")
    for run in (first, again):
        assert "n above 300000" in run.stdout and "n up to 300000" in run.stdout, run.stdout


def test_the_keys_of_the_file_and_their_order(project):
    gpuemu = project(op("scale", "{ n = [1, 500000] }", more="max_elements = 10000"), validation="max_elements = 2000")
    report, said = report_of(gpuemu, "--quick")
    assert report["ops"][0]["proof"]["up_to"]["n"] <= 10000 and "max_elements is 10000" in said
    report, said = report_of(gpuemu, "--quick", "--max-elements", "600000")
    assert "up_to" not in report["ops"][0]["proof"] and "declared" not in said
    assert 'validation.max_elements = 2000' in gpuemu.run("config", "show").stdout
    for wrong in ("0", "-1", "many", "99999999999"):
        assert gpuemu.run("test", "--max-elements", wrong).returncode == 2
    project(op("scale", "{ n = [1, 500] }", more="max_elements = 0"))
    checked = gpuemu.run("config", "check")
    assert checked.returncode == 2 and "max_elements: 0 is out of range" in checked.stdout + checked.stderr


def test_rows_and_columns_that_do_not_fit_together_are_each_at_their_largest(project):
    gpuemu = project(op("narrow_rows", "{ rows = [1, 20000], cols = [1, 2000] }", **ROWS))
    report, said = report_of(gpuemu, "--cases", "12", "--max-elements", "400000")
    assert report["failed"] == 0
    assert "rows = 20000, cols = 2000 together" in said, said
    largest = report["ops"][0]["proof"]["largest"]
    assert 300_000 < largest["rows"] * largest["cols"] <= 400_000


def test_a_case_is_the_same_when_it_is_run_again(project):
    gpuemu = project(op("scale", "{ n = [1, 1000000] }", grid='"min(256, cdiv(n, 1024))"', block=1024))
    first = gpuemu.run("test", "--quick").stdout
    seed = re.search(r"seed: (\d+)", first)[1]
    assert "fails" in gpuemu.run("reproduce", seed).stdout
    assert re.search(r"\[FAIL\].*", gpuemu.run("test", "--quick").stdout)[0] == re.search(r"\[FAIL\].*", first)[0]


def test_a_reference_that_cannot_compute_a_large_case_is_no_failure(project):
    gpuemu = project(op("scale", "{ n = [1, 600000] }"))
    (gpuemu.project / "twice.py").write_text("def reference(x):\n    if x.size > 300000:\n        raise MemoryError('too large')\n    return 2 * x\n")
    report, said = report_of(gpuemu, "--quick")
    (one,) = report["ops"]
    assert one["failed"] == 0 and one["cases"] == 9, one
    assert any(note.startswith("warning: declared sizes that were not run: n = 600000: ") and "too large" in note for note in one["notes"]), one["notes"]
    assert one["proof"]["up_to"]["n"] < 300000
    assert "scale: declared sizes that were not run: n = 600000" in said, said


def test_a_large_case_that_is_left_out_is_a_warning_in_every_report(project, tmp_path):
    gpuemu = project(op("scale", "{ n = [1, 600000] }"))
    (gpuemu.project / "twice.py").write_text("def reference(x):\n    if x.size > 300000:\n        raise MemoryError('too large')\n    return 2 * x\n")
    text = "declared sizes that were not run: n = 600000"
    tested = gpuemu.run("test", "--quick")
    assert tested.returncode == 0 and f"warning: {text}" in tested.stdout and text in tested.stderr, tested.stdout + tested.stderr
    assert re.search(r"of cases like these with n up to \d+ fail", tested.stdout), tested.stdout
    fuzzed = gpuemu.run("fuzz", "scale", "-i", "10")
    assert fuzzed.returncode == 0 and f"warning: {text}" in fuzzed.stdout and text in fuzzed.stderr
    for _ in range(2):  # The second time from what the first one kept.
        for form in ("text", "json", "junit"):
            told = gpuemu.run("ci", "--quick", "--format", form)
            assert told.returncode == 0 and "warning: scale float32: " + text in told.stdout, told.stdout


@pytest.mark.slow
def test_a_reference_that_is_slow_costs_no_minutes(project):
    gpuemu = project(op("scale", "{ n = [1, 4000000] }"), validation="reference_timeout_s = 8")
    (gpuemu.project / "twice.py").write_text("import time\n\ndef reference(x):\n    time.sleep(x.size / 50000)\n    return 2 * x\n")
    report, _ = report_of(gpuemu, "--cases", "6")
    (one,) = report["ops"]
    assert any("declared sizes that were not run: n = 4000000" in note for note in one["notes"]), one["notes"]
    assert one["failed"] == 0
    assert one["duration_ms"] < 30_000, "its reference would take 80 s"


def test_a_grid_beyond_65535_rows_is_refused(project):
    """By a daemon that has just started, too: what its first cases wait for tells nothing about large ones."""
    table = {"shapes": TABLE, "grid": '["cdiv(cols, 64)", "rows"]', "block": 64, "args": '"x", "y", "i32:rows", "i32:cols"'}
    gpuemu = project(op("tile_rows", "{ rows = [1, 70000], cols = [1, 20] }", **table))
    (gpuemu.project / "k.cu").write_text(KERNELS.replace("rows % 48 == 47 ? rows - 1 : rows", "rows"))
    run = gpuemu.run("test", "--quick")
    assert run.returncode == 1 and "65535" in run.stdout, run.stdout


def misses(gpuemu, ops, seeds, cases=24):
    """How many of the seeds do not find each op's fault."""
    missed = dict.fromkeys(ops, 0)
    for seed in range(1, seeds + 1):
        report, _ = report_of(gpuemu, "--cases", cases, "--seed", seed)
        for one in report["ops"]:
            missed[one["op_name"]] += one["failed"] == 0
    return missed


ONE_SIZE = ("one_size", "rest_of_one", "block_remainder", "lone_thread", "tile_rows")


def one_size_project(project):
    table = {"shapes": TABLE, "grid": '["cdiv(cols, 64)", "rows"]', "block": 64, "args": '"x", "y", "i32:rows", "i32:cols"'}
    return project(*(op(name, "{ n = [1, 5000] }") for name in ONE_SIZE[:-1]), op("tile_rows", "{ rows = [1, 400], cols = [1, 70] }", **table))


def test_guards_that_are_wrong_for_one_size_are_found(project):
    assert misses(one_size_project(project), ONE_SIZE, 4) == dict.fromkeys(ONE_SIZE, 0)


@pytest.mark.slow
def test_guards_that_are_wrong_for_one_size_are_missed_once_in_100_runs(project):
    found = misses(one_size_project(project), ONE_SIZE, 100)
    assert max(found.values()) <= 1, found


NARROW = ("narrow", "narrow_rows")


def narrow_project(project):
    return project(op("narrow", "{ n = [1, 33554432] }"), op("narrow_rows", "{ rows = [1, 100000], cols = [1, 1024] }", **ROWS))


def test_an_index_of_16_bits_is_found_behind_65536_blocks(project):
    gpuemu = narrow_project(project)
    result = gpuemu.run("test", "narrow_rows", "--cases", "10")
    assert result.returncode == 1 and "rows=100000" in result.stdout, result.stdout


@pytest.mark.slow
def test_an_index_of_16_bits_is_missed_once_in_100_runs(project):
    found = misses(narrow_project(project), NARROW, 100)
    assert max(found.values()) <= 1, found
