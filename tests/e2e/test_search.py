"""What runs of many cases say beside pass and fail: proof, coverage, calibration, the corpus."""
import json
import re
import shutil

import pytest

CONFIG = """[runtime]
compile_flags = ["-lineinfo"]
[validation]
seed = 5
[[ops]]
name = "clip"
kernel = "clip"
reference = "clip.py"
inputs = [{ name = "x", shape = ["n"], range = [-10.0, 10.0] }]
outputs = [{ name = "y", shape = ["n"] }]
dims = { n = [1, 2000] }
[[kernels]]
name = "clip"
source = "clip.cu"
launches = [{ entry = "clip", grid = "cdiv(n, 128)", block = 128, args = ["x", "y", "i32:n"] }]

[[ops]]
name = "total"
kernel = "total"
reference = "total.py"
inputs = [{ name = "x", shape = ["rows", "cols"] }]
outputs = [{ name = "y", shape = ["rows"] }]
dims = { rows = [1, 9], cols = [1, 300] }
accumulate = "cols"
error_scale = "sum"
[[kernels]]
name = "total"
source = "clip.cu"
launches = [{ entry = "total", grid = "rows", block = 32, args = ["x", "y", "i32:cols"] }]

[[ops]]
name = "loose"
kernel = "clip"
reference = "clip.py"
inputs = [{ name = "x", shape = ["n"], range = [-10.0, 10.0] }]
outputs = [{ name = "y", shape = ["n"] }]
dims = { n = [1, 200] }
tolerances = { float32 = 1000.0 }
"""
# Line 6 is reached by sizes of exactly 1333 only, line 9 by no legal input.
KERNELS = """extern "C" __global__ void clip(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float v = x[i];
  if (n == 1333)
    __nanosleep(v > 0.0f ? 1 : 2);
  if (v < 0.0f) v = 0.0f;
  if (v > 1000.0f && v < 2000.0f)
    *(volatile float*)(y + i) = 9.0f;
  y[i] = v;
}
extern "C" __global__ void total(const float* x, float* y, int cols) {
  float sum = 0.0f;
  for (int i = threadIdx.x; i < cols; i += 32) sum += x[blockIdx.x * cols + i];
  for (int step = 16; step > 0; step /= 2) sum += __shfl_down_sync(0xffffffffu, sum, step);
  if (threadIdx.x == 0) y[blockIdx.x] = sum;
}
"""


@pytest.fixture
def project(kernel_project):
    return kernel_project({"gpuemu.toml": CONFIG, "clip.cu": KERNELS, "total.py": "def reference(x):\n    return x.sum(axis=-1)\n",
                           "clip.py": "import numpy as np\n\ndef reference(x):\n    return np.maximum(x, 0)\n"})


def run_json(gpuemu, *words, code=0):
    result = gpuemu.run(*words, "--format", "json")
    assert result.returncode == code, result.stdout + result.stderr
    return json.loads(result.stdout)


def test_the_report_says_how_much_the_passing_cases_prove(project):
    report = run_json(project, "test", "clip", "total", "--cases", "40")
    clip, total = (op["proof"] for op in report["ops"])
    assert clip["judged"] == total["judged"] == 40
    assert clip["exact"] == 0 and total["exact"] >= 2  # Only sums of whole numbers allow no error.
    # Values from 5 to 10 are their own answer; values below 0 all give 0.
    assert clip["trivial"]["first_input"] >= 1 and clip["trivial"]["zeros"] >= 1
    assert 20 <= clip["telling"] < 40 and clip["telling"] == sum(clip["strategies"].values())
    assert clip["failure_limit"] == pytest.approx(3 / clip["telling"])
    text = project.run("test", "clip", "--cases", "40").stdout.splitlines()
    assert text[0].startswith("[PASS] clip") and text[1].startswith(f"    evidence: {clip['telling']} of 40"), text
    assert "FAIL" not in text[1] and "failed" not in text[1] and "clip" not in text[1]


def test_a_tolerance_that_lets_everything_through_is_told(project):
    result = project.run("test", "loose", "--cases", "10")
    assert result.returncode == 0 and "evidence: none: " in result.stdout, result.stdout
    proof = run_json(project, "test", "loose", "--cases", "10")["ops"][0]["proof"]
    assert proof["telling"] == 0 and proof["failure_limit"] == 1.0 and proof["trivial"]["first_input"] >= 5


def test_sums_of_whole_numbers_allow_no_error(project):
    source = project.project / "clip.cu"
    # One unit in the last place of a large sum: within the bound of `auto`, and wrong.
    source.write_text(KERNELS.replace("y[blockIdx.x] = sum", "y[blockIdx.x] = sum == 0.0f ? 1e-7f : sum * 1.0000001f"))
    loose = project.run("test", "total", "--cases", "60")
    assert loose.returncode == 1 and "any order of adding is exact" in loose.stdout, loose.stdout


def test_a_search_finds_what_the_kernel_compares_with_and_keeps_it(project):
    first = run_json(project, "fuzz", "--op", "clip", "-i", "160")
    search = first["search"]
    assert first["total"] == 160 and search["replayed"] == 0 and search["corpus"] >= 2
    assert search["grown"] >= search["corpus"]
    again = run_json(project, "fuzz", "--op", "clip", "-i", "1")
    assert again["search"]["replayed"] == search["corpus"] and again["total"] == 1 + search["corpus"]
    # The corpus alone reaches what the search did.
    assert again["search"]["edges"] == search["edges"] < search["edges_total"]
    assert again["search"]["corpus"] <= search["corpus"]


def test_the_same_seed_and_corpus_search_alike_whatever_the_number_of_workers(project):
    def found(workers):
        config = project.project / "gpuemu.toml"
        config.write_text(CONFIG.replace("[runtime]", f"[runtime]\nworkers = {workers}"))
        project.stop()
        shutil.rmtree(project.home / "db", ignore_errors=True)
        return run_json(project, "fuzz", "--op", "clip", "-i", "100", "--seed", "3")
    one = found(1)
    assert one["search"]["corpus"] >= 2 and found(2) == one


def test_unguided_runs_have_no_corpus(project):
    found = run_json(project, "fuzz", "--op", "clip", "-i", "5", "--unguided")
    assert found["total"] == 5 and "search" not in found


def test_coverage_of_a_kernel_shows_what_no_case_reached(project):
    text = project.run("coverage", "clip", "--cases", "20").stdout
    assert "clip.cu:9: never runs: *(volatile float*)(y + i) = 9.0f;" in text, text
    assert "clip.cu:8: never goes on" in text, text
    page = project.run("coverage", "-k", "clip", "--cases", "20", "--format", "html").stdout
    assert '<tr class="never"><td class="n">9</td>' in page and "total(const float*" in page
    lcov = project.run("coverage", "--kernel", "clip", "--cases", "20", "--format", "lcov").stdout
    assert "SF:clip.cu" in lcov and "\nDA:9,0\n" in lcov and "BRDA:8,0," in lcov
    # The other kernel of the file has nothing to do with it.
    assert not any(line.startswith("DA:14,") for line in lcov.splitlines())


def test_coverage_without_a_kernel_is_text_with_the_next_step_and_codecov_in_a_file(new_home):
    home = new_home({"gpuemu.toml": CONFIG, "clip.cu": KERNELS, "clip.py": "", "total.py": ""})
    listed = home.run("coverage")
    assert listed.returncode == 0 and listed.stdout == ("0 of 3 ops have results (0.0 %)\nno result: clip\nno result: total\nno result: loose\n"
                                                        "next: `gpuemu test clip`\n"), listed.stdout
    assert home.run("coverage", "-o", "ops.json").returncode == 0
    assert json.loads((home.project / "ops.json").read_text())["coverage"]["gpuemu/clip.op"] == {"1": 0}


def test_coverage_takes_an_op_for_its_kernel(project):
    text = project.run("coverage", "loose", "--cases", "2").stdout
    assert text.startswith("clip: "), text
    config = project.project / "gpuemu.toml"
    whole = config.read_text()
    again = whole[whole.index("[[kernels]]"):whole.index("[[ops]]\nname = \"total\"")].replace('name = "clip"', 'name = "again"')
    config.write_text(whole.replace('name = "loose"\nkernel = "clip"', 'name = "loose"\nkernel = ["clip", "again"]') + again)
    several = project.run("coverage", "loose")
    config.write_text(whole)
    assert several.returncode == 2 and "op 'loose' has 2 kernels: clip, again; name one of them" in several.stderr, several.stderr


def test_wrong_use_of_coverage_says_what_to_do(project):
    for words, hint in ((["--format", "lcov"], "`gpuemu coverage KERNEL --format lcov`"), (["--cases", "3"], "`gpuemu coverage KERNEL --cases"),
                        (["clop"], "did you mean 'clip'"), (["--kernel", "clop"], "did you mean 'clip'")):
        result = project.run("coverage", *words)
        assert result.returncode == 2 and hint in result.stderr, result.stderr


def test_a_calibrated_tolerance_fits_into_the_configuration_and_holds(project):
    result = project.run("calibrate", "total", "--cases", "120")
    assert result.returncode == 0, result.stdout + result.stderr
    table = result.stdout[result.stdout.index("# gpuemu calibrate"):]
    config = project.project / "gpuemu.toml"
    text = config.read_text().replace('error_scale = "sum"\n', 'error_scale = "sum"\n' + table, 1)
    config.write_text(text)
    assert project.run("test", "total", "--cases", "100").returncode == 0
    rows = run_json(project, "calibrate", "total", "--cases", "60")["dtypes"][0]
    assert rows["cases"] == 60 and rows["left_out"] == 0 and not rows.get("is_exact")
    small = next(row for row in rows["rows"] if row["value_strategy"] == "small_int")
    assert small["max_abs"] == 0


def test_the_table_of_a_kernels_entry_fits_below_the_line_that_it_names(new_home):
    entry = """[[kernels]]
name = "third"
source = "third.cu"
reference = "third.py"
inputs = [{ name = "x", shape = ["n"] }]
outputs = [{ name = "y", shape = ["n"] }]
dims = { n = [1, 60] }
launches = [{ entry = "third", grid = "cdiv(n, 32)", block = 32, args = ["x", "y", "i32:n"] }]
"""
    source = 'extern "C" __global__ void third(const float* x, float* y, int n) { int i = blockIdx.x * 32 + threadIdx.x; if (i < n) y[i] = x[i] / 3; }\n'
    home = new_home({"gpuemu.toml": entry + "[policies]\nwarn_threshold = 0.2\n", "third.cu": source, "third.py": "def reference(x):\n    return x / 3\n"})
    shown = home.run("calibrate", "third", "--cases", "30").stdout
    table = shown[shown.index("# gpuemu calibrate"):]
    line = int(re.search(r"below line (\d+) of gpuemu.toml", table)[1])
    config = home.project / "gpuemu.toml"
    lines = config.read_text().splitlines(keepends=True)
    config.write_text("".join(lines[:line]) + table + "".join(lines[line:]))
    assert home.run("config", "check").stdout.endswith("nothing wrong\n"), table
    assert home.run("test", "--cases", "30").returncode == 0


def test_a_kernel_without_error_needs_no_tolerance(project):
    result = project.run("calibrate", "clip", "--cases", "30")
    assert result.returncode == 0 and "float32 = 0.0 " in result.stdout, result.stdout


def test_cases_that_do_not_pass_are_left_out_of_a_calibration(project):
    (project.project / "clip.cu").write_text(KERNELS.replace("i >= n", "i >= n - 1"))
    result = project.run("calibrate", "clip", "--cases", "30")
    assert result.returncode == 1 and "nothing measured\n  left out:" in result.stdout, result.stdout
    (project.project / "clip.cu").write_text(KERNELS.replace("i >= n", "i >= min(n, 4)"))
    result = project.run("calibrate", "clip", "--cases", "60")
    assert result.returncode == 1 and "correct cases" in result.stdout, result.stdout
    assert "no tolerance is proposed" in result.stdout and "[ops.tolerances]" not in result.stdout
