"""A run in which nothing ran is no success, whichever way it was asked for; and what may be left out fails nothing."""
import json
import re

import pytest

from projects import SCALE_PTX, TWO, kernel_op
from test_pytest_plugin import run as pytest_in
from wire_records import check_error, fuzz_config


def project(supports):
    """An op in two dtypes, whose kernel takes the cases of this condition."""
    op = kernel_op("twice", "twice.ptx", extra='dtypes = ["float32", "float16"]').replace('dtype = "float32"', 'dtype = "{dtype}"')
    return {"gpuemu.toml": "[validation]\ncases = 4\nseed = 7\n" + op.replace("launches =", f'supports = "{supports}"\nlaunches ='),
            "twice.ptx": SCALE_PTX.replace("FACTOR", TWO), "ref_twice.py": "def reference(x):\n    return 2.0 * x\n"}


NEVER, SOME = "n > 1000", "dtype == 'float32'"


@pytest.mark.parametrize("words", [("fuzz", "-i", "4"), ("fuzz", "--unguided", "-i", "4"), ("fuzz", "twice", "-i", "4", "--format", "json"),
                                   ("test",), ("test", "twice"), ("ci",)])
def test_an_op_of_which_no_case_ran_exits_with_3_and_says_why(new_home, words):
    done = new_home(project(NEVER)).run(*words)
    assert done.returncode == 3 and "[PASS] twice (" not in done.stdout, done.stdout
    assert "no kernel supports any of its cases: look at `supports` and the dims" in done.stdout + done.stderr


@pytest.mark.parametrize("shard", [(), ("--shard", "1/2"), ("--shard", "2/2")])
def test_a_gate_of_ops_that_run_in_clients_exits_with_3_in_every_shard(new_home, shard):
    home = new_home({"gpuemu.toml": '[[ops]]\nname = "scale"\nreference = "ref.py"\n', "ref.py": "def reference(x):\n    return x\n"})
    done = home.run("ci", *shard)
    assert done.returncode == 3 and "nothing was checked" in done.stderr, done.stdout


def test_an_empty_list_of_kernels_is_no_op_of_a_client(new_home):
    files = project("n > 0")
    home = new_home({**files, "gpuemu.toml": files["gpuemu.toml"].replace('kernel = "twice"', "kernel = []", 1)})
    done = home.run("test")
    assert done.returncode == 2 and "ops[0].kernel: an empty list, expected the name of a kernel" in done.stderr, done.stderr


@pytest.mark.parametrize("guided", [(), ("--unguided",)])
def test_fuzz_names_a_dtype_of_which_no_case_ran(new_home, guided):
    home = new_home(project(SOME))
    done = home.run("fuzz", "-i", "8", *guided)
    assert done.returncode == 0 and "float16: no kernel supports any of its cases" in done.stdout, done.stdout
    report = json.loads(home.run("fuzz", "twice", "-i", "8", "--format", "json", *guided).stdout)
    assert 0 < report["total"] < 8 + report.get("search", {}).get("replayed", 0) and "float16" in report["notes"][0]


def test_clients_are_told_too(new_home):
    home = new_home(project(NEVER))
    home.start()
    with home.client() as client:
        for members in ({"fuzz_config": fuzz_config(), "iterations": 4, "fail_fast": False}, {"config": {"iterations": 4}},
                        {"config": {"iterations": 4}, "guided": True}):
            check_error(client.ask("FuzzOp", op_name="twice", **members), "InvalidRequest", "twice", "no kernel supports any of its cases")


def test_dtypes_that_a_client_names_are_those_that_run(new_home):
    home = new_home(project("n > 0"))
    home.start()
    with home.client() as client:
        ask = lambda dtypes: client.ask("FuzzOp", op_name="twice", fuzz_config=fuzz_config(dtypes=dtypes), iterations=4, fail_fast=False)
        check_error(ask(["int8"]), "InvalidRequest", "twice", "int8", "float32 float16")
        assert ask(["float32", "float16"])["total"] == 4


@pytest.mark.parametrize("dtypes", [["float32", "float16"], ["float16", "float32"]])
def test_an_op_without_the_dtypes_of_clients_whose_user_names_none_runs_its_own(new_home, dtypes):
    files = project("n > 0")
    home = new_home({**files, "gpuemu.toml": files["gpuemu.toml"].replace('["float32", "float16"]', '["int32"]')})
    home.start()
    with home.client() as client:
        assert client.ask("FuzzOp", op_name="twice", fuzz_config=fuzz_config(dtypes=dtypes), iterations=4, fail_fast=False)["total"] == 4


def test_the_pytest_plugin_skips_a_dtype_and_fails_an_op(new_home):
    home = new_home(project(SOME))
    _, found = pytest_in(home.project, "gpuemu.toml", env=home.env)
    assert found == {"twice[float32]": "pass", "twice[float16]": "skipped"}
    file = home.project / "gpuemu.toml"
    file.write_text(re.sub(r"(?m)^cases = .*", "cases = 20000", file.read_text()))
    said, found = pytest_in(home.project, "gpuemu.toml", "--gpuemu-budget=1s", env=home.env)
    assert found["twice[float16]"] == "skipped", said  # All cases of float32 take longer than the budget.
    (home.project / "gpuemu.toml").write_text(project(NEVER)["gpuemu.toml"])
    _, found = pytest_in(home.project, "gpuemu.toml", env=home.env)
    assert found == {"twice[float32]": "failure", "twice[float16]": "failure"}
