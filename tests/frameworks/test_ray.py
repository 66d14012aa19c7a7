"""Cases on the workers of a Ray cluster of this machine: those that gpuemu.check runs, and the same verdicts."""
import os
import pathlib

import numpy as np
import pytest

ray = pytest.importorskip("ray")
import gpuemu  # noqa: E402


@pytest.fixture(scope="module", autouse=True)
def cluster():
    paths = os.pathsep.join([str(pathlib.Path(__file__).parent), os.environ.get("PYTHONPATH", "")])
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, runtime_env={"env_vars": {"PYTHONPATH": paths}})
    yield
    ray.shutdown()


def loses_a_tail(x: gpuemu.Tensor["cols"]):
    y = 2 * x
    y[(len(x) // 8) * 8 :] = 0
    return y


def twice(x):
    return 2 * x


OPTIONS = {"seed": 4, "dims": {"cols": (1, 40)}, "strategies": ["normal"]}


def test_workers_find_what_one_process_finds():
    alone = gpuemu.check(loses_a_tail, twice, cases=60, fail_fast=False, raise_on_failure=False, **OPTIONS)
    spread = gpuemu.on_ray.check(loses_a_tail, twice, cases=60, tasks=7, fail_fast=False, raise_on_failure=False, **OPTIONS)
    assert (spread.cases, spread.passed, spread.seed) == (alone.cases, alone.passed, alone.seed) == (60, spread.passed, 4) and alone.failed
    assert [one.seed for one in spread.failures] == [one.seed for one in alone.failures]
    assert spread.smallest.dims == alone.smallest.dims and spread.replay == alone.replay


def test_the_first_failure_is_raised_with_its_replay():
    with pytest.raises(gpuemu.CheckError, match="replay: gpuemu.check") as raised:
        gpuemu.on_ray.check(loses_a_tail, twice, cases=60, tasks=3, **OPTIONS)
    found = raised.value.check
    assert 0 < found.failed <= 3
    again = gpuemu.check(loses_a_tail, twice, only=found.failures[0].repro_info.iteration, raise_on_failure=False, **OPTIONS)
    assert again.failures[0].seed == found.failures[0].seed


def test_right_functions_pass_and_wrong_arguments_are_told_before_a_worker_starts():
    def double(x: gpuemu.Tensor["cols"]):
        return x * np.float32(2)

    assert gpuemu.on_ray.check(double, twice, cases=20, **OPTIONS).passed == 20
    with pytest.raises(ValueError, match="unknown layouts diagonal"):
        gpuemu.on_ray.check(double, twice, layouts=["diagonal"])
    with pytest.raises(TypeError, match="expected a function"):
        gpuemu.on_ray.check(double, None)
