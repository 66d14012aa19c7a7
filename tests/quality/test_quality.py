"""The planted faults are found, the correct kernels are not flagged, and the tables say what the folders hold."""
import tomllib

import pytest

import run
import suite

HERE = suite.HERE


def test_the_limit_of_a_rate_is_that_of_clopper_and_pearson():
    assert suite.upper_limit(0, 300) == pytest.approx(1 - 0.05 ** (1 / 300), rel=1e-6)
    assert suite.upper_limit(1, 100) == pytest.approx(0.046560, abs=1e-5)
    assert suite.upper_limit(5, 10) == pytest.approx(0.77756, abs=1e-4)
    assert suite.upper_limit(10, 10) == suite.upper_limit(0, 0) == 1.0


def test_every_class_has_a_kernel_and_every_kernel_a_class():
    classes = suite.read_classes()
    faults = suite.read_faults()
    assert sorted(classes) == list(range(1, 72)) == sorted({fault.number for fault in faults})
    assert sum(not fault.missed for fault in faults) >= 60


def test_every_kernel_has_an_expectation_and_every_mark_a_kernel():
    project = tomllib.loads((HERE / "faulty" / "gpuemu.toml").read_text())
    names = [kernel["name"] for kernel in project["kernels"]]
    assert names == [fault.name for fault in suite.read_faults()]
    assert set(suite.marked_lines(HERE / "faulty")) <= set(names)
    assert len(tomllib.loads((HERE / "correct" / "gpuemu.toml").read_text())["kernels"]) >= 40


def check(*arguments):
    options = run.parse(arguments)
    found, _, alarms = run.measure(options)
    problems = run.problems_of(found, alarms)
    assert not problems, "\n".join(problems)
    return found, alarms


def test_planted_faults_are_found_and_correct_kernels_are_not_flagged(nvcc_program):
    found, alarms = check("--quick", "--backend", "emulator")
    assert len(found) >= 100 and sum(one.cases for one in alarms.values()) >= 1000


@pytest.mark.parametrize("seed, ops", [(6, ["product_tiles", "product_registers"]), (4, ["group_norm"])])
def test_results_that_cancel_are_not_flagged_where_the_first_moves_of_their_inputs_cancel_too(nvcc_program, seed, ops):
    check("--part", "undeclared", "--seeds", "1", "--first-seed", str(seed), "--cases", "64", *ops)


@pytest.mark.slow
def test_ten_seeds_find_the_same_and_flag_nothing(nvcc_program):
    found, alarms = check("--seeds", "10", "--cases", "64", "--backend", "emulator")
    assert sum(one.cases for one in alarms.values()) >= 50_000


MISSES_OF_A_HUNDRED = 1


@pytest.mark.slow
def test_what_chance_misses_is_missed_in_one_run_of_a_hundred_at_most(nvcc_program):
    """The values of these faults have cases of their own (judge/cases/order.cc)."""
    project = tomllib.loads((HERE / "faulty" / "gpuemu.toml").read_text())
    names = [kernel["name"] for kernel in project["kernels"] if kernel["source"] == "values.cu"]
    names += ["window_max_fill", "softmax_first_max", "masked_by_product", "path_of_one_value", "row_max_fill", "eps_outside"]
    found, _, _ = run.measure(run.parse(["--part", "faults", "--fault-seeds", "100", "--backend", "emulator", *names]))
    assert len(found) == len(names) and all(one.runs == 100 for one in found)
    missed = {one.fault.name: one.runs - one.hits for one in found if one.runs - one.hits > MISSES_OF_A_HUNDRED}
    assert not missed, missed
