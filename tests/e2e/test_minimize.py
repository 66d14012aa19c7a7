"""Minimization: as small as the fault allows, the same kind of failure, only legal sizes."""
import base64
import json
import subprocess
import sys

import numpy as np
import pytest

from conftest import ROOT

FEW = 4


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
    ("rowmax_wrong_identity", lambda dims: dims["rows"] * dims["cols"] <= 16),
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
        assert small["input_elements"] <= 32 and small.get("nonzero_elements", 0) <= 2
        assert small["result"]["failures"][0]["kind"] == before["result"]["failures"][0]["kind"]
        again = gpuemu.run("reproduce", small["minimized_seed"], "--op", op, "--exit-code")
        assert again.returncode == 1


def test_single_elements_are_simplified_and_kept_with_the_case(gpuemu):
    gpuemu.run("test", "rowmax_wrong_identity", "--seed", "3", "--cases", "40")
    kept = []
    for seed in seeds_of(gpuemu, "rowmax_wrong_identity", 6):
        small = minimize(gpuemu, seed, "--max-iters", "200")
        if small["result"]["repro_info"]["value_strategy"] == "stored":
            kept.append(small)
    assert kept, "no case needed single elements; choose another seed"
    small = kept[0]
    assert "values" in " ".join(small["simplified"])
    again = json.loads(gpuemu.run("reproduce", small["minimized_seed"], "--format", "json").stdout)
    x = np.frombuffer(base64.b64decode(again["inputs"]["x"]["data"]), np.float32)
    # Those that do not matter are the number of the range that is nearest to 0.
    assert (x == -100).sum() == x.size - small["nonzero_elements"]
    assert again["result"]["failures"] == small["result"]["failures"]
    told = subprocess.run([sys.executable, "-m", "gpuemu.reproduce", str(small["minimized_seed"])], cwd=gpuemu.project, text=True,
                          env={**gpuemu.env, "PYTHONPATH": str(ROOT / "python")}, capture_output=True, timeout=120)
    assert told.returncode == 0 and "the daemon's bytes" in told.stdout, told.stdout + told.stderr
    # A second time there is nothing left to do.
    smaller = minimize(gpuemu, small["minimized_seed"], "--max-iters", "200")
    assert smaller["input_elements"] <= small["input_elements"]


def test_a_layout_that_does_not_matter_goes(gpuemu):
    kernel = gpuemu.project / "kernels" / "transpose.cu"
    source = kernel.read_text()
    broken = source.replace("__syncthreads();", "", 1)
    assert broken != source
    kernel.write_text(broken)
    gpuemu.run("test", "transpose", "--seed", "3", "--cases", "24")
    shown = json.loads(gpuemu.run("failures", "--limit", "100", "--op", "transpose", "--format", "json").stdout)
    strided = [one["seed"] for one in shown["results"] if one["repro_info"]["layout"] == "Strided"]
    assert strided
    small = minimize(gpuemu, strided[0])
    assert small["result"]["repro_info"]["layout"] == "Contiguous"
    assert "layout strided -> contiguous" in small["simplified"]


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


def test_the_smallest_inputs_are_lines_of_python(gpuemu):
    gpuemu.run("test", "rowmax_wrong_identity", "--seed", "3", "--cases", "40")
    seed = seeds_of(gpuemu, "rowmax_wrong_identity")[0]
    small = minimize(gpuemu, seed)
    shown = gpuemu.run("minimize", seed).stdout
    lines = shown.partition("  inputs, for Python:\n")[2].splitlines()
    names = {}
    exec("\n".join(lines), {}, names)  # As pasted, with what they import.
    names.pop("numpy")
    again = json.loads(gpuemu.run("reproduce", small["minimized_seed"], "--format", "json").stdout)
    assert names.keys() == again["inputs"].keys(), shown
    for name, array in names.items():
        kept = again["inputs"][name]
        assert list(array.shape) == kept["shape"] and str(array.dtype) == kept["dtype"]
        assert array.tobytes() == base64.b64decode(kept["data"]), (lines, kept)
