"""Minimization: as small as the fault allows, the same kind of failure, only legal sizes."""
import json

import pytest

FEW = 4


@pytest.fixture(autouse=True)
def compiled_once(gpuemu, tmp_path_factory):
    """One cache of compiled kernels for all tests: compiling is not what they are about."""
    cache = tmp_path_factory.getbasetemp() / "compiled"
    cache.mkdir(exist_ok=True)
    (gpuemu.home / "db.cache").symlink_to(cache)


def seeds_of(gpuemu, op, limit=FEW):
    shown = json.loads(gpuemu.run("failures", "--limit", "1000", "--op", op, "--format", "json").stdout)
    by_kind = {}
    for failure in shown["results"]:
        by_kind.setdefault(failure["failures"][0]["kind"], []).append(failure["seed"])
    # Some of each kind.
    return [seed for seeds in by_kind.values() for seed in seeds[:limit]]


def minimize(gpuemu, seed, *more):
    result = gpuemu.run("minimize", seed, "--format", "json", *more)
    assert result.returncode == 0, result.stdout + result.stderr
    return json.loads(result.stdout.splitlines()[-1])


@pytest.mark.parametrize("op, smallest", [
    ("scale_missing_tail_mask", lambda dims: dims["n"] == 1),
    # The race needs two warps that add something.
    ("reduce_missing_sync", lambda dims: dims["rows"] == 1 and dims["cols"] <= 128),
    ("rowmax_wrong_identity", lambda dims: dims["rows"] * dims["cols"] <= 8),
])
def test_planted_faults_shrink_to_the_least_that_fails(gpuemu, op, smallest):
    gpuemu.run("test", op, "--seed", "3", "--cases", "40")
    seeds = seeds_of(gpuemu, op)
    assert seeds
    for seed in seeds:
        before = json.loads(gpuemu.run("reproduce", seed, "--op", op, "--format", "json").stdout)
        small = minimize(gpuemu, seed)
        assert smallest(small["minimized_dims"]), small["minimized_dims"]
        assert small["trials"] <= 100
        assert small["result"]["failures"][0]["kind"] == before["result"]["failures"][0]["kind"]
        again = gpuemu.run("reproduce", small["minimized_seed"], "--op", op, "--exit-code")
        assert again.returncode == 1


def test_only_listed_sizes_are_tried(gpuemu):
    file = gpuemu.project / "gpuemu.toml"
    text = file.read_text()
    op = text.index('name = "scale_missing_tail_mask"')
    file.write_text(text[:op] + text[op:].replace("n = [1, 4096]", "n = [256, 300, 1000, 4000]", 1))
    gpuemu.run("test", "scale_missing_tail_mask", "--seed", "3", "--cases", "16")
    for seed in seeds_of(gpuemu, "scale_missing_tail_mask"):
        assert minimize(gpuemu, seed)["minimized_dims"] == {"n": 300}


def test_values_alone_keep_the_dims(gpuemu):
    gpuemu.run("test", "scale_missing_tail_mask", "--seed", "3", "--cases", "8")
    seed = seeds_of(gpuemu, "scale_missing_tail_mask", 1)[0]
    small = minimize(gpuemu, seed, "--strategy", "binary-search-values")
    assert small["minimized_dims"] == small["original_dims"]
    assert small["result"]["repro_info"]["value_strategy"] == "zeros"


def test_the_trials_are_limited(gpuemu):
    gpuemu.run("test", "reduce_missing_sync", "--seed", "3", "--cases", "16")
    seed = seeds_of(gpuemu, "reduce_missing_sync", 1)[0]
    assert minimize(gpuemu, seed, "--max-iters", "3")["trials"] <= 3
