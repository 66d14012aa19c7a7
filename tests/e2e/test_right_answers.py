"""Outputs with several right answers, for which the reference returns a predicate instead of values."""
import json

import pytest

# The right answer for a row is the place of any negative number, or -1 without one. WHERE is the kernel's condition.
KERNEL = """extern "C" __global__ void find(const float* x, int* at, float* value, int rows, int cols) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  int found = -1;
  for (int c = 0; c < cols; ++c) if (WHERE) found = c;
  at[row] = found;
  value[row] = found < 0 ? 0.0f : x[row * cols + found];
}
"""
LAST, ABOVE = "x[row * cols + c] < 0", "x[row * cols + c] > 0"
CONFIG = """[validation]
seed = 1
[[kernels]]
name = "find"
source = "find.cu"
reference = "find.py"
inputs = [{ name = "x", shape = ["rows", "cols"], range = [-1.0, 1.0] }]
outputs = [{ name = "at", shape = ["rows"], dtype = "int32" }, { name = "value", shape = ["rows"] }]
dims = { rows = [1, 70], cols = [1, 40] }
nan_policy = "any"
launches = [{ entry = "find", grid = ["cdiv(rows, 64)"], block = [64], args = ["x", "at", "value", "i32:rows", "i32:cols"] }]
"""
REFERENCE = """import numpy as np


def reference(x):
    rows = np.arange(len(x))

    def is_place(at):
        found = np.clip(at, 0, x.shape[1] - 1)
        return np.where((x < 0).any(1), (at == found) & (x[rows, found] < 0), at == -1)

    def is_value(value):
        return ((x == value[:, None]) & (x < 0)).any(1) | ((value == 0) & ~(x < 0).any(1))

    return {"at": is_place, "value": is_value}
"""


@pytest.fixture(scope="module")
def home(new_home):
    return new_home({"gpuemu.toml": CONFIG, "find.cu": KERNEL.replace("WHERE", LAST), "find.py": REFERENCE})


def run(home, kernel=LAST, reference=REFERENCE, code=0):
    (home.project / "find.cu").write_text(KERNEL.replace("WHERE", kernel))
    (home.project / "find.py").write_text(reference)
    done = home.run("test", "--cases", "24", "--format", "json")
    assert done.returncode == code, done.stdout + done.stderr
    return json.loads(done.stdout)["ops"][0]


def test_every_answer_that_the_predicate_accepts_is_right(home):
    for where in (LAST, LAST + " && found < 0"):  # The kernel finds the last one or the first.
        assert run(home, where)["passed"] == 24


def test_a_refused_element_is_a_finding_that_says_which(home):
    op = run(home, ABOVE, code=1)
    found = [failure for case in op["failures"] for failure in case["failures"]]
    assert {failure["kind"] for failure in found} == {"InvariantViolation"}, found
    assert any(failure["message"].startswith("at: the reference's predicate rejects ") for failure in found), found
    seed = op["failures"][0]["seed"]
    again = home.run("reproduce", seed, "--exit-code")
    assert again.returncode == 1 and "the reference's predicate rejects" in again.stdout, again.stdout
    assert home.run("minimize", seed).returncode == 0


def test_one_answer_may_be_values_and_another_a_predicate(home):
    mixed = REFERENCE.replace('"value": is_value', '"value": np.where((x < 0).any(1), [row[row < 0][-1] if (row < 0).any() else 0 for row in x], 0)')
    assert run(home, reference=mixed)["passed"] == 24
    assert run(home, LAST + " && found < 0", mixed, code=1)["failed"] > 0


@pytest.mark.parametrize("body, said", [
    ("lambda at: at", "the predicate for at returned int64; expected True or False"),
    ("lambda at: np.ones((3, 5), bool)", "returned the shape (3, 5), which does not fit the output's"),
    ("lambda at: 1 / 0", "ZeroDivisionError"), ("lambda: True", "TypeError"),
])
def test_a_predicate_that_does_not_answer_is_an_error_of_the_reference(home, body, said):
    (home.project / "find.cu").write_text(KERNEL.replace("WHERE", LAST))
    (home.project / "find.py").write_text(REFERENCE.replace('"at": is_place', f'"at": {body}'))
    done = home.run("test", "--cases", "4")
    assert done.returncode == 3 and said in done.stdout and "find.py" in done.stdout, done.stdout


def test_a_client_is_told_that_its_output_needs_values(home):
    (home.project / "find.py").write_text("def reference(x):\n    return lambda y: y == x\n")
    config = home.project / "gpuemu.toml"
    whole = config.read_text()
    config.write_text(whole + '[[ops]]\nname = "client"\nreference = "find.py"\ninput_names = ["x"]\n')
    home.start()
    tensor = {"shape": [1], "dtype": "float32", "data": "AAAAAA=="}
    reply = home.ask("ValidateOp", op_name="client", inputs={"x": tensor}, output=tensor, kwargs={})
    config.write_text(whole)
    assert reply["type"] == "Error" and "returned a function for output" in reply["message"], reply
