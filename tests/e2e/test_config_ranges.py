"""`gpuemu config check --format json`: where each error and warning begins and ends, for editors."""
import json

import pytest

HEAD = """[[kernels]]
name = "scale"
source = "scale.ptx"
inputs = [{ name = "x", shape = ["n"] }]
outputs = [{ name = "y", shape = ["n"] }]
dims = { n = [1, 8] }
launches = [{ entry = "scale", grid = 1, block = 1, args = ["x", "y"] }]
"""
# What is appended, the key that is told, and what stands from its beginning to its end.
WRONG = [
    ("prioritty = 3\n", "kernels[0].prioritty", "prioritty"),
    ('priority = "high"\n', "kernels[0].priority", '"high"'),
    ("max_elements = 0\n", "kernels[0].max_elements", "0"),
    ("deterministic = 1.5e3\n", "kernels[0].deterministic", "1.5e3"),
    ('dtypes = ["f32", "f33"]\n', "kernels[0].dtypes[1]", '"f33"'),
    ("layouts = [\n  'contiguous',\n  'diagonal',\n]\n", "kernels[0].layouts[1]", "'diagonal'"),
    ('supports = "n < rows"\n', "kernels[0].supports", "rows"),
    ('"größe" = 1\n', "kernels[0].größe", '"größe"'),
    ('error_scale = { "y" = "dött", z = "dot" }\n', "kernels[0].error_scale.y", '"dött"'),
    ("accumulate_dtype = {\n  a = 1,\n}\n", "kernels[0].accumulate_dtype", "{\n  a = 1,\n}"),
    ("[runtime]\nworkers = 9999\n", "runtime.workers", "9999"),
    ("[[ops]]\nreference = 'scale.py'\n", "ops[0].name", "[[ops]]"),
    ("[validation]\n[nothing]\n", "nothing", "nothing"),
]


def part(text, problem):
    """What stands between the two places."""
    lines = text.split("\n")
    first, last = problem["line"] - 1, problem["end_line"] - 1
    rows = lines[first : last + 1]
    rows[-1] = rows[-1][: problem["end_column"] - 1]
    rows[0] = rows[0][problem["column"] - 1 :]
    return "\n".join(rows)


@pytest.fixture(scope="module")
def home(new_home):
    return new_home({"gpuemu.toml": HEAD, "scale.ptx": "", "scale.py": ""})


def check(home, text, code, env=None):
    (home.project / "gpuemu.toml").write_text(text)
    done = home.run("config", "check", "--format", "json", env=env)
    assert done.returncode == code and done.stderr == "", done.stdout + done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("more, key, marked", WRONG, ids=[key for _, key, _ in WRONG])
def test_an_error_marks_what_is_wrong(home, more, key, marked):
    text = HEAD + more
    told = [one for one in check(home, text, 2)["problems"] if one["key"] == key]
    assert len(told) == 1 and told[0]["file"] == str(home.project / "gpuemu.toml") and told[0]["message"]
    assert part(text, told[0]) == marked


def test_text_that_is_not_toml_is_marked_where_it_ends_to_be(home):
    [problem] = check(home, HEAD + "a = = 1\n", 2)["problems"]
    assert problem["line"] == HEAD.count("\n") + 1
    assert (problem["end_line"], problem["end_column"]) > (problem["line"], problem["column"])


def test_warnings_have_places_and_are_no_errors(home):
    text = HEAD + "build = { arch = 'sm_80' }\n[project]\nframework = 'pytorhc'\n"
    found = check(home, text, 0)
    assert found["problems"] == []
    assert {one["key"]: part(text, one) for one in found["warnings"]} == {"kernels[0].build": "build", "project.framework": "framework"}
    found = check(home, text + "name = 3\n", 2)
    assert len(found["problems"]) == 1 and len(found["warnings"]) == 2


def test_the_environment_has_no_place(home):
    [problem] = check(home, HEAD, 2, env={"GPUEMU_BACKEND": "gpu"})["problems"]
    assert [problem[name] for name in ("line", "column", "end_line", "end_column")] == [0] * 4
    assert check(home, HEAD, 0) == {"problems": [], "warnings": []}
