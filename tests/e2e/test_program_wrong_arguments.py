"""Graphs, executors and checks tell a wrong argument by its name."""
import os
import subprocess
import sys

import numpy as np
import pytest

from conftest import ROOT
from test_programs import device, gpuemu, mlp, program, runtime  # noqa: F401


def executor(device, **options):
    made = program.Executor(mlp(), device, **options)
    for name, content in (("x", np.zeros((6, 12), np.float32)), ("target", np.zeros((6, 4), np.float32)), ("scalars", program.adam_scalars(1, 0.1))):
        made.set(name, content)
    return made


@pytest.mark.parametrize(("call", "error", "says"), [
    (lambda one: program.IRGraph(3), TypeError, "name is of type int, expected a str"),
    (lambda one: program.IRGraph("p", device=3), TypeError, "device is of type int, expected a str"),
    (lambda one: mlp().lower(passes="fuse"), TypeError, r"passes is 'fuse', expected a list of names, as in \['fuse'\]"),
    (lambda one: mlp().bind([3]), TypeError, "lowered is not what lower"), (lambda one: mlp().bind(alignment="a"), TypeError, "alignment is 'a'"),
    (lambda one: program.apply_pass(3, "fuse"), TypeError, "graph is of type int, expected an IRGraph"),
    (lambda one: program.adam_scalars(1, "a"), TypeError, "rate is 'a', expected a number"),
    (lambda one: program.trace(3, {}), TypeError, "fn is of type int, expected a function"),
    (lambda one: program.trace(lambda x: x, 3), TypeError, "inputs is of type int, expected a dict from names"),
    (lambda one: program.trace(lambda x: x, {"x": (2,)}), TypeError, r"inputs: 'x' is \(2,\), expected \(shape, dtype\)"),
    (lambda one: executor(one, passes=3), TypeError, "passes is 3"), (lambda one: executor(one, plan=3), TypeError, "plan is of type int, expected a BindingPlan"),
    (lambda one: executor(one, policy={"prefer": {"relu": "zz"}}), runtime.InvalidArgumentError, "'relu' has no variant 'zz'"),
    (lambda one: executor(one, policy=3), TypeError, "policy is of type int"),
    (lambda one: executor(one).run(3), TypeError, "inputs is of type int, expected a dict by name"),
    (lambda one: executor(one).check(3), TypeError, "inputs is of type int, expected a dict by name"),
    (lambda one: executor(one).capture().launch(3), TypeError, "inputs is of type int, expected a dict by name"),
    (lambda one: executor(one).bind("x", None), TypeError, "'x': the operand is of type NoneType, expected a Tensor"),
    (lambda one: executor(one).bind("x", runtime.Device("emulator").zeros((6, 12))), program.BindError, "expected one of the executor's device, emulator:0, the same device object"),
    (lambda one: executor(one).check({"x": np.zeros((6, 12))}), program.BindError, r"'x': the content is float64\[6, 12\], expected float32\[6,12\]"),
    (lambda one: executor(one).check(tolerance={"nope": gpuemu.ToleranceConfig(0.1, 0.1)}), program.GraphError, "unknown op 'nope'"),
    (lambda one: executor(one).check(tolerance={"relu": 3}), TypeError, "tolerance of relu is 3, expected a gpuemu.ToleranceConfig"),
    (lambda one: executor(one).check(save=3), TypeError, "save is of type int, expected the path of a folder"),
])  # fmt: skip
def test_a_wrong_argument_is_named(device, call, error, says):
    with pytest.raises(error, match=says):
        call(device)


def test_a_check_takes_the_inputs_that_a_run_takes(device):
    one = executor(device)
    for inputs in ({"scalars": [0.1, 1.0, 1.0]}, {"scalars": (0.1, 1.0, 1.0)}, {"x": device.zeros((6, 12))}, {"x": np.ones((6, 12), np.float32)}):
        one.run(inputs)
        assert one.check(inputs).passed


@pytest.mark.parametrize(("words", "code", "says"), [
    (["--steps", "0"], 2, "error: --steps is 0, expected 1 or more"), (["--plant", "adam", "--optimizer", "sgd"], 2, "--plant adam goes with --optimizer adam"),
    (["--steps", "1"], 1, "train_mlp.py: /nowhere.so cannot be loaded"),
])  # fmt: skip
def test_the_example_tells_what_is_wrong_in_one_line(words, code, says):
    ran = subprocess.run([sys.executable, ROOT / "examples/train_mlp.py", *words], capture_output=True, text=True, timeout=60,
                         env={**os.environ, "PYTHONPATH": str(ROOT / "python"), "GPUEMU_LIBRARY": "/nowhere.so"})
    assert ran.returncode == code and says in ran.stderr and "Traceback" not in ran.stderr
