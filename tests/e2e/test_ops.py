"""`gpuemu ops`: what gpuemu.toml declares and where, without running anything."""
import json

import pytest

from conftest import ROOT

CONFIG = """[validation]
dtypes = ["f32", "f16"]

[runtime]
include_dirs = ["far"]

[[kernels]]
name = "scale"
source = "kernels/scale.cu"
reference = "refs/scale.py"
priority = 1
inputs = [{ name = "x", shape = ["rows", "2 * cols"] }]
outputs = [{ name = "y", shape = ["rows", "2 * cols"] }]
dims = { rows = [1, 8], cols = [16, 32, 64] }
launches = [
  { entry = "scale", grid = 1, block = 1, args = ["x", "y"] },
]

[[kernels]]
name = "fast"
source = "kernels/fast.cu"
launches = [{ entry = "fast", grid = 1, block = 1, args = ["x", "y"] }]

[[ops]]
name = "double"
kernel = ["scale", "fast"]
reference = "refs/double.py"
dtypes = ["float64"]

[[ops]]
name = "norm"
reference = "refs/scale.py"
op_script = "refs/norm.py"
execution_mode = "script_based"
"""
FILES = {
    "gpuemu.toml": CONFIG,
    "kernels/scale.cu": '#include "near.h"\n#include <cuda_fp16.h>\n#include <far.h>\n',
    "kernels/fast.cu": "",
    "kernels/near.h": '#include "deep/deeper.h"\n',
    "kernels/deep/deeper.h": '#include "../near.h"\n',
    "far/far.h": "",
    "refs/scale.py": "",
    "refs/double.py": "",
    "refs/norm.py": "",
}


@pytest.fixture(scope="module")
def home(new_home):
    return new_home(FILES)


@pytest.fixture(scope="module")
def listed(home):
    done = home.run("ops", "--format", "json")
    assert done.returncode == 0 and done.stderr == "", done.stderr
    return json.loads(done.stdout)


def one(rows, name):
    [found] = [row for row in rows if row["name"] == name]
    return found


def files(home, row):
    return [(file["role"], str(file["path"]).removeprefix(f"{home.project.resolve()}/")) for file in row["files"]]


def line_of(text):
    return CONFIG.split(text)[0].count("\n") + 1


def test_every_op_and_kernel_is_there_with_what_it_is(listed):
    assert [row["name"] for row in listed["ops"]] == ["double", "norm"]
    assert [row["name"] for row in listed["kernels"]] == ["scale", "fast"]
    double = one(listed["ops"], "double")
    assert double["dtypes"] == ["float64"] and double["variants"] == ["scale", "fast"]
    assert double["execution_mode"] == "kernel" and double["section"] == "ops"
    assert double["dims"] == [{"name": "rows", "lowest": 1, "highest": 8}, {"name": "cols", "values": [16, 32, 64]}]
    assert double["inputs"] == [{"name": "x", "dtype": "{dtype}", "shape": ["rows", "2 * cols"]}]
    norm = one(listed["ops"], "norm")
    assert norm["dtypes"] == ["float32", "float16"] and norm["variants"] == [] and norm["dims"] == []
    assert norm["execution_mode"] == "script_based"
    assert one(listed["kernels"], "scale")["ops"] == ["double"]
    assert one(listed["kernels"], "fast")["entries"] == ["fast"]


def test_an_entry_is_where_it_is_written(home, listed):
    assert listed["file"] == str(home.project / "gpuemu.toml")
    for section, name in (("ops", "double"), ("ops", "norm"), ("kernels", "scale"), ("kernels", "fast")):
        row = one(listed[section], name)
        assert row["file"] == listed["file"]
        assert (row["line"], row["column"]) == (line_of(f'name = "{name}"') - 1, 1), row
    assert one(listed["kernels"], "scale")["end_line"] == line_of("launches = [\n") + 2
    assert one(listed["ops"], "double")["end_line"] == line_of('dtypes = ["float64"]')


def test_files_are_those_that_it_depends_on(home, listed):
    scale = [("kernel", "kernels/scale.cu"), ("header", "kernels/near.h"), ("header", "far/far.h"), ("header", "kernels/deep/deeper.h")]
    assert sorted(files(home, one(listed["kernels"], "scale"))) == sorted([*scale, ("reference", "refs/scale.py")])
    assert sorted(files(home, one(listed["ops"], "double"))) == sorted(
        [*scale, ("kernel", "kernels/fast.cu"), ("reference", "refs/double.py")])
    assert files(home, one(listed["ops"], "norm")) == [("reference", "refs/scale.py"), ("op_script", "refs/norm.py")]


def test_a_kernel_without_an_op_of_its_own_is_an_op(new_home):
    home = new_home({**FILES, "gpuemu.toml": CONFIG.split("[[ops]]")[0]})
    done = home.run("ops", "--format", "json")
    scale = one(json.loads(done.stdout)["ops"], "scale")
    assert scale["section"] == "kernels" and scale["line"] == line_of('name = "scale"') - 1
    assert scale["end_line"] > scale["line"] and scale["column"] == 1
    text = home.run("ops").stdout.splitlines()
    assert text == [f"scale float32,float16 kernel scale ({home.project}/gpuemu.toml:7)",
                    f"fast kernel of no op ({home.project}/gpuemu.toml:19)"]


def test_nothing_runs(home, listed):
    assert home.processes() == []


def test_a_wrong_file_and_none_are_told(new_home):
    home = new_home({"gpuemu.toml": "[[ops]]\nname = 3\n", "empty/x": ""})
    done = home.run("ops", "--format", "json")
    assert done.returncode == 2 and json.loads(done.stdout)["code"] == "ConfigError"
    (home.project / "gpuemu.toml").unlink()
    assert home.run("ops").returncode == 2


def test_every_example_is_listed(new_home):
    home = new_home({})
    for path in sorted([*(ROOT / "examples").rglob("gpuemu.toml"), *(ROOT / "tests").rglob("gpuemu.toml")]):
        done = home.run("--config", path, "ops", "--format", "json")
        assert done.returncode == 0, f"{path}: {done.stderr}"
        for row in json.loads(done.stdout)["ops"]:
            assert row["dtypes"] and row["line"] >= 1 and row["end_line"] >= row["line"], row
