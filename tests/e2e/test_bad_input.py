"""Every wrong thing gets a message that names it, and the documented exit code."""
import json
import os
import re
import stat

import pytest

KERNEL = """extern "C" __global__ void twice(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = 2.0f * x[i];
}
"""
# A counter makes every round another one: nobody can tell whether it ends.
RUNAWAY = KERNEL.replace("if (i < n)", "volatile unsigned go = 1; while (go) go += 2;\n  if (i < n)")
REFERENCE = "def reference(x):\n    return 2.0 * x\n"
CONFIG = """[validation]
cases = 4
seed = 1
[[ops]]
name = "twice"
reference = "twice.py"
kernel = "twice"
inputs = [{ name = "x", shape = ["n"], dtype = "float32" }]
outputs = [{ name = "y", shape = ["n"], dtype = "float32" }]
dims = { n = [1, 300] }
[[kernels]]
name = "twice"
source = "twice.cu"
launches = [{ entry = "twice", grid = ["cdiv(n, 128)"], block = ["128"], args = ["x", "y", "i32:n"] }]
"""


def project(gpuemu, config=CONFIG, kernel=KERNEL, reference=REFERENCE):
    folder = gpuemu.project.parent / "small"
    folder.mkdir()
    (folder / "gpuemu.toml").write_text(config)
    (folder / "twice.cu").write_text(kernel)
    (folder / "twice.py").write_text(reference)
    gpuemu.project = folder
    return gpuemu


def test_a_users_own_kernel_passes(gpuemu):
    result = project(gpuemu).run("test")
    assert result.returncode == 0, result.stdout + result.stderr
    assert "[PASS] twice" in result.stdout


def test_a_config_error_names_file_line_and_key(gpuemu):
    result = project(gpuemu, CONFIG.replace("kernel = \"twice\"", "kernle = \"twice\"")).run("test")
    assert result.returncode == 2
    assert "gpuemu.toml:7" in result.stderr and "kernle" in result.stderr and "kernel" in result.stderr


def test_a_compile_error_shows_the_users_file_and_line(gpuemu):
    result = project(gpuemu, kernel=KERNEL.replace("2.0f *", "2.0f %%")).run("test")
    assert result.returncode == 3, result.stdout + result.stderr
    assert "twice.cu" in result.stderr and "3" in result.stderr


def test_an_entry_that_does_not_exist_lists_those_there_are(gpuemu):
    result = project(gpuemu, CONFIG.replace('entry = "twice"', 'entry = "twise"')).run("test")
    assert result.returncode in (1, 2, 3)
    assert "twise" in result.stdout + result.stderr and "twice" in result.stdout + result.stderr


def test_a_wrong_argument_count_is_reported_before_the_launch(gpuemu):
    result = project(gpuemu, CONFIG.replace(', "i32:n"]', "]")).run("test")
    assert result.returncode == 1
    assert "argument" in result.stdout


def test_an_out_of_bounds_store_names_tensor_and_source_line(gpuemu):
    result = project(gpuemu, kernel=KERNEL.replace("if (i < n) ", "")).run("test")
    assert result.returncode == 1
    assert "OutOfBounds" in result.stdout and "twice.cu:3" in result.stdout


def test_messages_cannot_make_a_terminal_show_something_else(gpuemu):
    said = "a\u202eb\u2066\u009b31mc"
    wrong = project(gpuemu, reference=f"def reference(x):\n    raise ValueError({ascii(said)})\n")
    result = wrong.run("test")
    assert result.returncode == 3
    for text in (result.stdout, result.stderr):
        assert r"a\u202eb\u2066\u009b31mc" in text and not {"\u202e", "\u2066", "\u009b"} & set(text), text
    report = wrong.run("test", "--format", "json").stdout
    assert "\u202e" not in report
    assert said in json.loads(report)["ops"][0]["skipped_reason"]


def test_a_runaway_kernel_is_stopped(gpuemu):
    config = CONFIG.replace("[validation]", "[runtime]\ncase_timeout_ms = 500\n[validation]")
    result = project(gpuemu, config.replace("cases = 4", "cases = 1"), RUNAWAY).run("test")
    assert result.returncode == 1 and "Timeout" in result.stdout


def test_a_loop_that_changes_nothing_is_told_at_once(gpuemu):
    config = CONFIG.replace("[validation]", "[runtime]\ncase_timeout_ms = 600000\n[validation]")
    endless = KERNEL.replace("if (i < n)", "volatile int go = 1; while (go) {}\n  if (i < n)")
    result = project(gpuemu, config, endless).run("test")
    assert result.returncode == 1 and "[Deadlock]" in result.stdout and "twice.cu:3" in result.stdout


def test_an_op_that_keeps_running_into_its_time_limit_is_not_waited_for(gpuemu):
    # More workers begin more cases before the first has run into the limit.
    config = CONFIG.replace("[validation]", "[runtime]\nworkers = 2\ncase_timeout_ms = 300\n[validation]")
    slow = project(gpuemu, config.replace("cases = 4", "cases = 64"), RUNAWAY)
    op = json.loads(slow.run("test", "--format", "json").stdout)["ops"][0]
    assert 3 <= op["cases"] == op["failed"] < 16
    [note] = [note for note in op["notes"] if "left out" in note]
    assert f"the {64 - op['cases']} others were left out" in note and "runtime.case_timeout_ms" in note


def test_an_op_with_a_rare_timeout_runs_all_of_its_cases(gpuemu):
    config = CONFIG.replace("[validation]", "[runtime]\ncase_timeout_ms = 1500\n[validation]")
    rare = KERNEL.replace("if (i < n)", "if (n == 2) { volatile unsigned go = 1; while (go) go += 2; }\n  if (i < n)")
    result = project(gpuemu, config.replace("cases = 4", "cases = 64"), rare).run("test")
    assert " of 64 float32 cases" in result.stdout and "left out" not in result.stdout


def test_a_runaway_kernel_names_the_limit_that_was_set_in_every_case(gpuemu):
    config = CONFIG.replace("[validation]", "[runtime]\ncase_timeout_ms = 600\n[validation]")
    result = project(gpuemu, config, RUNAWAY).run("test", "--format", "json")
    failures = [one for op in json.loads(result.stdout)["ops"] for one in op["failures"]]
    said = [failure["message"] for one in failures for failure in one["failures"] if failure["kind"] == "Timeout"]
    assert len(said) == len(failures) >= 4
    for text in said:  # Some cases have had a run on other inputs before.
        found = re.search(r"did not end within (?:the last (\d+) of the )?600 ms", text)
        assert found and int(found[1] or 600) > 100, text


def test_wrong_values_beside_a_race_are_not_called_another_formula(gpuemu):
    racing = KERNEL.replace("if (i < n)", "__shared__ float s[128];\n  s[threadIdx.x] = 0;\n  __syncthreads();\n"
                            "  s[threadIdx.x] = (i ^ 64) < n ? x[i ^ 64] : 0;\n  if (i < n)").replace("x[i];\n}", "s[threadIdx.x ^ 64];\n}")
    small = project(gpuemu, CONFIG.replace("cases = 4", "cases = 16"), racing)
    result = small.run("test")
    why = [line.strip() for line in result.stdout.splitlines() if line.strip().startswith("why ")]
    assert why and "[DataRace]" in result.stdout, result.stdout
    for line in why:
        assert re.search(r"the DataRace above at \S*twice.cu:[67] can cause these wrong values; fix it first", line)
    explained = small.run("explain", why[0].split()[1], "--op", "twice").stdout
    assert "twice: unknown" in explained and "the DataRace above" in explained, explained
    assert "another formula" not in explained


def test_what_a_fault_kept_from_being_launched_is_not_judged(gpuemu):
    beyond = KERNEL + """extern "C" __global__ void copy(const float* x, float* t, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  t[i < n ? i : 0] = x[i];
}
"""
    copied = CONFIG.replace('launches = [{ entry = "twice"', 'scratch = [{ name = "t", shape = ["n"], dtype = "float32" }]\n'
                            'launches = [{ entry = "copy", grid = ["cdiv(n, 128)"], block = ["128"], args = ["x", "t", "i32:n"] },\n'
                            '{ entry = "twice"').replace('args = ["x", "y", "i32:n"] }]', 'args = ["t", "y", "i32:n"] }]')
    result = project(gpuemu, copied, beyond).run("test", "--format", "json")
    kinds = {failure["kind"] for one in json.loads(result.stdout)["ops"][0]["failures"] for failure in one["failures"]}
    assert "OutOfBounds" in kinds and kinds <= {"OutOfBounds", "DataRace"}, kinds


def test_loops_whose_ends_were_never_written_cost_no_time_limits(gpuemu):
    # As large as the poison: the run on other inputs before a case has no limit of its own.
    config = CONFIG.replace("[validation]", "[runtime]\ncase_timeout_ms = 600000\n[validation]").replace("cases = 4", "cases = 16")
    config = config.replace('args = ["x", "y", "i32:n"]', 'args = ["x", "end", "y", "i32:n"]')
    config += 'scratch = [{ name = "end", shape = ["1"], dtype = "int32" }]\n'
    kernel = KERNEL.replace("float* y", "const volatile int* end, float* y").replace(
        "if (i < n) y[i] = ", "float s = 0;\n  for (int k = 0; k < *end; ++k) s += x[k & 0];\n  if (i < n) y[i] = s + ")
    result = project(gpuemu, config, kernel).run("test")
    assert result.returncode == 1 and "16 of 16 float32 cases; [UninitializedRead]" in result.stdout, result.stdout


def test_a_reference_that_hangs_is_stopped_and_named(gpuemu):
    config = CONFIG.replace("[validation]", "[validation]\nreference_timeout_s = 1")
    bad = project(gpuemu, config.replace("cases = 4", "cases = 1"),
                  reference="def reference(x):\n    while True: pass\n")
    result = bad.run("test")
    assert result.returncode == 3 and "the reference answers no case" in result.stdout and "twice.py" in result.stdout


def test_a_reference_that_raises_shows_its_traceback(gpuemu):
    result = project(gpuemu, reference="def reference(x):\n    raise ValueError('no luck')\n").run("test")
    assert result.returncode == 3 and "no luck" in result.stdout


def test_an_unknown_op_is_a_usage_error(gpuemu):
    result = project(gpuemu).run("fuzz", "--op", "twise")
    assert result.returncode == 2 and "twise" in result.stderr and "twice" in result.stderr


def test_an_unknown_option_is_a_usage_error(gpuemu):
    assert project(gpuemu).run("test", "--no-such-thing").returncode == 2


def test_an_unknown_seed_says_so(gpuemu):
    result = project(gpuemu).run("reproduce", "12345")
    assert result.returncode != 0 and "12345" in result.stderr


def test_socket_and_folder_are_private(gpuemu):
    gpuemu.run("daemon", "start", "--background")
    socket = gpuemu.env["GPUEMU_SOCKET"]
    assert stat.S_IMODE(os.stat(socket).st_mode) == 0o600
    assert stat.S_IMODE(os.stat(os.path.dirname(socket)).st_mode) == 0o700


def test_an_op_that_cannot_be_made_does_not_stop_the_others(gpuemu):
    second = CONFIG[CONFIG.index("[[ops]]"):].replace('"twice"', '"again"').replace('"n", dtype', '"n", dtype')
    second = second.replace('"i32:n"', '"i32:n / (n - n)"').replace('entry = "again"', 'entry = "twice"')
    result = project(gpuemu, CONFIG + second).run("test")
    assert result.returncode == 3, result.stdout + result.stderr
    assert "[PASS] twice" in result.stdout and "[ERROR] again" in result.stdout, result.stdout
    assert "n / (n - n)" in result.stdout


@pytest.mark.parametrize("text", ["", "<html></html>", ".version 8.0\n.target sm_75\n.address_size 64\n"])
def test_a_ptx_file_without_a_kernel_is_named(gpuemu, text):
    own = project(gpuemu, CONFIG.replace("twice.cu", "twice.ptx"))
    (own.project / "twice.ptx").write_text(text)
    result = own.run("test")
    assert result.returncode == 3, result.stdout + result.stderr
    said = result.stdout + result.stderr
    assert "twice.ptx" in said and "__global__" not in said, said
