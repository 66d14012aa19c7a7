"""Kernels that take subnormal numbers as zero: a note by default, a failure where they shall be kept."""
import json

import pytest

from projects import SCALE_PTX, TWO, kernel_op

FLUSHES = SCALE_PTX.replace("mul.f32", "mul.ftz.f32").replace("FACTOR", TWO)
# Half of that: also wrong where numbers are normal.
WRONG = FLUSHES.replace(TWO, "0f3F800000")
REFERENCE = "def reference(x):\n    return 2.0 * x\n"
CASES = "strategies = [\"tiny\", \"subnormal\", \"special\", \"normal\"]\n"


@pytest.fixture(scope="module")
def home(new_home):
    settings = {"noted": "", "kept": 'subnormal = "keep"', "allowed": 'subnormal = "ftz_ok"', "strict": "strict = true", "wrong": ""}
    ops = "".join(kernel_op(name, "wrong.ptx" if name == "wrong" else "flushes.ptx", extra=extra) for name, extra in settings.items())
    return new_home({"gpuemu.toml": f"[validation]\nseed = 3\n{CASES}{ops}", "flushes.ptx": FLUSHES, "wrong.ptx": WRONG, "ref_twice.py": REFERENCE})


def report_of(home, op):
    run = home.run("test", op, "--cases", "40", "--format", "json")
    assert run.returncode in (0, 1), run.stderr
    return json.loads(run.stdout)["ops"][0]


def test_flushing_is_a_note_by_default(home):
    report = report_of(home, "noted")
    assert report["failed"] == 0 and report["relations"]["flushed"] > 0, report
    assert any("came out as zero" in note and 'subnormal = "keep"' in note for note in report["notes"]), report["notes"]
    assert "came out as zero" in home.run("test", "noted", "--cases", "40").stdout


@pytest.mark.parametrize("op", ["kept", "strict"])
def test_flushing_is_a_failure_where_subnormal_numbers_shall_be_kept(home, op):
    report = report_of(home, op)
    assert report["failed"] > 0 and "flushed" not in report.get("relations", {})
    assert {one["kind"] for case in report["failures"] for one in case["failures"]} == {"ToleranceExceeded"}


def test_flushing_excuses_no_other_error(home):
    report = report_of(home, "wrong")
    assert report["failed"] >= 20, report
