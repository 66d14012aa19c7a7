"""Small cases wait together at the processes of a slot: what one does to a process costs no other case."""
import json

import pytest

from projects import SCALE_PTX, TWO, kernel_op

CASES = 400
CONFIG = "[runtime]\nworkers = WORKERS\n[validation]\nreference_timeout_s = 1\n" + kernel_op("twice", "twice.ptx")
REFERENCE = """import os, time
def reference(x):
    with open(os.path.join(os.path.dirname(__file__), "asked"), "a") as file:
        file.write(f"{len(x)}\\n")
    print('{"ok": true}')
    if len(x) % 17 == 4:
        os._exit(5)
    if len(x) % 19 == 6 and NOISE:
        os.write(3, NOISE)
    if len(x) % 23 == 8:
        return 2 * x[1:]
    if len(x) == 71:
        time.sleep(100)
    if len(x) % 13 == 5:
        raise ValueError("not this one")
    return 2 * x
"""


def what_is_wrong(size, noise=False):
    """What the failure of a case of this size must say; nothing where it must pass. `noise`: a script writes to a
    descriptor that it did not open."""
    if size % 17 == 4:
        return "exit code 5"
    if noise and size % 19 == 6:
        return "Bad file descriptor"
    if size % 23 == 8:
        return "ShapeMismatch"
    if size == 71:
        return "did not answer within 1000 ms"
    return "not this one" if size % 13 == 5 else None


def fuzz(new_home, workers, noise=False):
    home = new_home({"gpuemu.toml": CONFIG.replace("WORKERS", str(workers)), "twice.ptx": SCALE_PTX.replace("FACTOR", TWO),
                     "ref_twice.py": REFERENCE.replace("NOISE", "b'no frame'" if noise else "b''")})
    done = home.run("fuzz", "--op", "twice", "-i", CASES, "--seed", 5, "--unguided", "--format", "json")
    assert done.returncode == 1, done.stderr
    sizes = [int(line) for line in (home.project / "asked").read_text().split()]
    return json.loads(done.stdout), sizes


@pytest.fixture(scope="module")
def alone(new_home):
    return fuzz(new_home, 1)


def test_each_failure_is_that_of_its_own_case(alone):
    results, sizes = alone
    assert results["total"] == CASES
    bad = [size for size in sizes if what_is_wrong(size)]
    assert results["failed"] == len(bad) > 5 and len({what_is_wrong(size) for size in bad}) == 4
    check_failures(results, what_is_wrong)


def check_failures(results, wrong):
    for failure in results["failures"]:
        text = json.dumps(failure)
        size = failure["repro_info"]["dims"]["n"]
        assert wrong(size) and wrong(size) in text, text[:2000]


def test_a_script_that_writes_to_a_descriptor_it_did_not_open_runs_no_other_again(alone, new_home):
    results, sizes = fuzz(new_home, 1, noise=True)
    assert len(sizes) == CASES
    bad = [size for size in alone[1] if what_is_wrong(size, noise=True)]
    assert results["total"] == CASES and results["failed"] == len(bad) > alone[0]["failed"]
    check_failures(results, lambda size: what_is_wrong(size, noise=True))


def test_each_reference_runs_once(alone):
    _, sizes = alone
    assert len(sizes) == CASES


def test_lanes_change_no_result(alone, new_home):
    results, sizes = fuzz(new_home, 2)
    assert sorted(sizes) == sorted(alone[1])
    listed = [[one["seed"] for one in found["failures"]] for found in (results, alone[0])]
    assert listed[0] == listed[1]
