"""The examples: what a plain comparison accepts, gpuemu finds; what is right stays right."""
import json
import re

import pytest

# What a usual test does: one aligned shape, normal values, allclose, nothing else.
PLAIN = """[validation]
cases = 1
strategies = ["normal"]
sanitize = []
determinism_runs = 1
[validation.tolerances]
float32 = { atol = 1e-5, rtol = 1e-5 }
"""
ALIGNED = {
    "scale_missing_tail_mask": "{ n = 1024 }",
    "reduce_missing_sync": "{ rows = 16, cols = 32 }",
    "rowmax_wrong_identity": "{ rows = 16, cols = 128 }",
}


def section_of(config, op):
    """The [[ops]] entry of the op with the [[kernels]] entry behind it."""
    parts = re.split(r"(?m)^(?=\[\[ops\]\])", config)
    return next(part for part in parts if f'\nname = "{op}"\n' in part.split("[[kernels]]")[0])


@pytest.mark.parametrize("op", ALIGNED)
def test_plain_allclose_on_one_aligned_shape_accepts_the_planted_fault(gpuemu, op):
    file = gpuemu.project / "gpuemu.toml"
    section = section_of(file.read_text(), op)
    plain = re.sub(r"(?m)^dims = .*$", "dims = " + ALIGNED[op], section)
    # A usual test draws standard normal values, whatever the kernel is made for.
    plain = re.sub(r", range = \[[^\]]*\]", "", plain)
    file.write_text(PLAIN + plain)
    for seed in (1, 2, 3):
        result = gpuemu.run("test", "--seed", seed)
        assert result.returncode == 0, result.stdout + result.stderr
        assert f"[PASS] {op}" in result.stdout and "1 case" in result.stdout


def test_the_default_configuration_finds_each_planted_fault_with_few_cases(gpuemu):
    report = json.loads(gpuemu.run("test", "--cases", "8", "--format", "json").stdout)
    assert {op["op_name"] for op in report["ops"] if op["failed"]} == set(ALIGNED)
    kinds = {op["op_name"]: {one["kind"] for bad in op["failures"] for one in bad["failures"]}
             for op in report["ops"] if op["failed"]}
    assert "OutOfBounds" in kinds["scale_missing_tail_mask"]
    assert "DataRace" in kinds["reduce_missing_sync"]
    assert kinds["rowmax_wrong_identity"] & {"NaNDetected", "ToleranceExceeded"}


def test_the_other_examples_stand_every_strategy(gpuemu):
    for strategy in ["special", "signed_zero", "sorted_ties", "subnormal", "offset", "bits_uniform"]:
        result = gpuemu.run("test", "--seed", 2**63 + 11, "--cases", "24", "--strategy", strategy)
        bad = {line.split()[1] for line in result.stdout.splitlines() if line.startswith("[FAIL]")}
        assert bad <= set(ALIGNED), strategy + "\n" + result.stdout


def test_no_op_has_a_name_that_is_part_of_another(gpuemu):
    # Editors look for the name in the lines of the report.
    shown = gpuemu.run("config", "show").stdout
    names = re.findall(r'(?m)^ops\[\d+\]\.name = "(.*)"$', shown)
    assert len(names) >= 11
    assert not [(a, b) for a in names for b in names if a != b and a in b]
