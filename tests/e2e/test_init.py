"""`gpuemu init` in folders of several kinds: what it writes loads, runs and is never lost."""
import json
import pathlib
import subprocess

import pytest

from conftest import BIN, ROOT
from projects import SCALE_PTX, TWO

CU = """// y = factor * x
extern "C" __global__ void scale(const float* x, float* y, int n, float factor) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = factor * x[i];
}
template <typename T>
__global__ void twice(const T* x, T* y, int rows, int cols) {
  for (int i = threadIdx.x; i < cols; i += 256) y[blockIdx.x * cols + i] = x[blockIdx.x * cols + i] + x[blockIdx.x * cols + i];
}
"""


def files_of(home):
    return {str(path.relative_to(home.project)) for path in home.project.rglob("*") if path.is_file()}


def fill_in(home, name, expression):
    path = home.project / "scripts" / f"ref_{name}.py"
    text = path.read_text()
    assert "raise NotImplementedError" in text
    path.write_text(text.partition("    raise")[0] + f"    return {expression}\n")


def test_kernels_of_a_folder_run_once_their_references_are_written(new_home):
    home = new_home({"src/k.cu": CU, "build/old.cu": "broken"})
    run = home.run("init", "--ci", "github", "--name", "demo")
    assert run.returncode == 0, run.stderr
    assert files_of(home) == {"src/k.cu", "build/old.cu", "gpuemu.toml", "scripts/ref_scale.py", "scripts/ref_twice.py",
                              ".github/workflows/gpuemu.yml", ".gitignore"}
    assert home.run("config", "check").returncode == 0
    before = home.run("test", "--cases", 2)
    assert before.returncode == 3 and "return what scale should compute" in before.stdout
    fill_in(home, "scale", "factor * x")
    fill_in(home, "twice", "2 * x")
    after = home.run("test", "--cases", 4)
    assert after.returncode == 0, after.stdout + after.stderr
    assert after.stdout.count("[PASS]") == 2
    assert home.run("lint").returncode == 0


def test_ptx_alone_is_enough(new_home):
    home = new_home({"scale.ptx": SCALE_PTX.replace("FACTOR", TWO), "broken.ptx": "garbage"})
    run = home.run("init")
    assert run.returncode == 0 and "note: broken.ptx is left out: " in run.stderr
    fill_in(home, "scale", "2 * t0")
    tested = home.run("test", "--cases", 4)
    assert tested.returncode == 0, tested.stdout + tested.stderr


def test_an_empty_folder_gets_an_example_that_passes(new_home):
    home = new_home({})
    assert home.run("init", "--ci", "gitlab").returncode == 0
    assert (home.project / ".gitlab-ci.yml").exists() and (home.project / "kernels/vector_add.cu").exists()
    tested = home.run("test", "--cases", 3)
    assert tested.returncode == 0, tested.stdout + tested.stderr


def commands_of(home, ci):
    """What the CI file runs, as one script."""
    text = (home.project / {"gitlab": ".gitlab-ci.yml", "github": ".github/workflows/gpuemu.yml"}[ci]).read_text()
    job = pytest.importorskip("yaml").safe_load(text)
    if ci == "gitlab":
        return "\n".join(job["gpuemu"]["script"])
    return "\n".join(step["run"] for step in job["jobs"]["kernels"]["steps"] if "run" in step)


@pytest.mark.parametrize("ci", ["gitlab", "github"])
def test_the_ci_file_lets_through_what_is_right_and_stops_what_is_not(new_home, ci):
    home = new_home({})
    assert home.run("init", "--ci", ci).returncode == 0

    def run():
        return subprocess.run(["bash", "-e", "-u", "-o", "pipefail", "-c", commands_of(home, ci)], cwd=home.project,
                              env=home.env | {"PATH": f"{BIN}:{home.env['PATH']}"}, capture_output=True, text=True, timeout=300)

    good = run()
    assert good.returncode == 0, good.stdout + good.stderr
    assert json.loads((home.project / "gpuemu.sarif").read_text())["runs"][0]["results"] == []
    assert home.run("baseline", "save", "main", "--file", "gpuemu-baseline.json").returncode == 0
    compared = run()
    assert compared.returncode == 0 and "baseline main" in compared.stdout, compared.stdout + compared.stderr
    kernel = home.project / "kernels/vector_add.cu"
    kernel.write_text(kernel.read_text().replace(" + ", " - ") + "\n")
    wrong = run()
    assert wrong.returncode == 1 and "[FAIL] vector_add" in wrong.stdout, wrong.stdout + wrong.stderr


@pytest.mark.parametrize("text, framework", [("import torch\n", "pytorch"), ("from jax import numpy\n", "jax"),
                                             ("import tensorflow as tf\n", "tensorflow")])
def test_a_framework_without_kernels_gets_an_op_of_the_client(new_home, text, framework):
    home = new_home({"model.py": text})
    assert home.run("init").returncode == 0
    config = (home.project / "gpuemu.toml").read_text()
    assert "framework" not in config and "[[ops]]" in config
    checked = home.run("config", "check")
    assert checked.returncode == 0 and "has no effect" not in checked.stdout + checked.stderr


def test_nothing_is_ever_written_over(new_home):
    home = new_home({"gpuemu.toml": "# mine\n", ".gitignore": "mine\n"})
    refused = home.run("init")
    assert refused.returncode == 2 and "already has gpuemu.toml" in refused.stderr
    assert files_of(home) == {"gpuemu.toml", ".gitignore"}
    forced = home.run("init", "--force")
    assert forced.returncode == 0 and "kept gpuemu.toml as gpuemu.toml.bak" in forced.stdout
    assert (home.project / "gpuemu.toml.bak").read_text() == "# mine\n"
    assert (home.project / ".gitignore").read_text() == "mine\n"


def test_arguments_are_those_of_existing_tools(new_home):
    home = new_home({})
    assert home.run("init", "--name", "n", "--framework", "pytorch", "--target-dir", "sub/dir").returncode == 0
    assert (home.project / "sub/dir/gpuemu.toml").exists()
    assert home.run("init", "--framework", "caffe").returncode == 2
    assert home.run("init", "-t", "/proc/nowhere").returncode == 3
