"""What `gpuemu init` is not sure of: failures say so where they are read."""
import json
import re

import pytest

from projects import SCALE_PTX, TWO, kernel_op
from test_sessions import expect_golden, shown, steady

GUESS = 'guess = "no launch of it runs with sizes of a few dozen."\n'
BEYOND = SCALE_PTX.replace("FACTOR", TWO).replace("setp.ge.s32 %p1, %r5, %r1", "setp.gt.s32 %p1, %r5, %r1")
REFERENCE = "def reference(x):\n    return 2.0 * x\n"
SAID = "`gpuemu init` was not sure of op: no launch of it runs with sizes of a few dozen. Before you believe these findings, compare"


def project(ptx, extra=GUESS):
    return {"ref_twice.py": REFERENCE, "op.ptx": ptx, "gpuemu.toml": "[validation]\nseed = 3\n" + kernel_op("op", "op.ptx", extra=extra)}


def joined(text):
    return " ".join(text.split())


def test_a_failure_of_a_guess_says_what_to_check_first(new_home):
    home = new_home(project(BEYOND))
    run = home.run("test")
    assert run.returncode == 1 and "[OutOfBounds]" in run.stdout
    assert "warning: " + SAID in joined(run.stdout), run.stdout
    assert "at gpuemu.toml:4 with your program" in joined(run.stdout), run.stdout
    ci = home.run("ci", "--report", "pr-comment=out.md", "--report", "sarif=out.sarif", "--report", "html=out.html")
    assert "note: warning: " + SAID in joined(ci.stdout), ci.stdout
    for file in ("out.md", "out.sarif", "out.html"):
        assert "was not sure of op" in (home.project / file).read_text(), file


def test_a_passing_guess_and_a_checked_failure_say_nothing(new_home):
    home = new_home(project(SCALE_PTX.replace("FACTOR", TWO)))
    assert "was not sure" not in home.run("test", "-v").stdout
    home = new_home(project(BEYOND, extra=""))
    run = home.run("test", "-v")
    assert run.returncode == 1 and "was not sure" not in run.stdout


@pytest.mark.parametrize("columns", [80, 120])
def test_what_looks_closer_at_a_failure_repeats_it(columns, new_home):
    home = new_home(project(BEYOND))
    seed = re.search(r"seed: (\d+)", home.run("test").stdout)[1]
    for command in ("reproduce", "explain", "minimize"):
        text = shown(home, columns, command, seed)
        assert joined(text).count("warning: " + SAID) == 1, text
        expect_golden(f"{command}_guess.{columns}.txt", steady(text, home))


def test_a_case_that_passes_now_does_not_repeat_it(new_home):
    home = new_home(project(BEYOND))
    seed = re.search(r"seed: (\d+)", home.run("test").stdout)[1]
    assert SAID in json.loads(home.run("reproduce", seed, "--format", "json").stdout)["guess"]
    (home.project / "op.ptx").write_text(SCALE_PTX.replace("FACTOR", TWO))
    for command in ("reproduce", "explain"):
        assert "was not sure" not in home.run(command, seed).stdout, command
