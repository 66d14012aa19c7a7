"""gpuemu run: what programs of the driver API are told, and what the report says of a program that is killed."""
import sys
import textwrap

import pytest

from test_run import document, run
from test_run_devices import BEGIN


@pytest.fixture
def report(tmp_path):
    def work(text, *words):
        program = tmp_path / "program.py"
        program.write_text(BEGIN + textwrap.dedent(text))
        done, made = document(*words, "--", sys.executable, program)
        assert "Traceback" not in done.stderr, done.stderr
        return done, made
    return work


KILLED = """
    import os, signal
    memory = made(cuda.cuMemAlloc_v2, S(128))
    check(cuda.cuMemsetD8_v2(memory, 0, S(128)))
    for turn in range(5):
        assert inc(0, memory) == 0
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_the_launches_of_a_program_that_is_killed_are_counted(report):
    done, made = report(KILLED)
    assert done.returncode == 137 and made["program"]["signal"] == 9
    assert [one["launches"] for one in made["processes"]] == [5]


UNFINISHED = """
    import os
    memory = made(cuda.cuMemAlloc_v2, S(128))
    check(cuda.cuMemsetD8_v2(memory, 0, S(128)))
    words = (P * 1)(c.cast(c.pointer(P(memory.value)), P))
    check(cuda.cuLaunchKernel(made(cuda.cuModuleGetFunction, made(cuda.cuModuleLoadData, PTX), b"inc"), 1 << 22, 1, 1, 32, 1, 1, 0, None, words, None))
    {wait}
    os._exit(0)
"""


@pytest.mark.parametrize("wait, unfinished", [("", 1), ("check(cuda.cuCtxSynchronize())", 0)])
def test_a_launch_that_a_program_does_not_wait_for_is_reported_as_not_checked(report, tmp_path, wait, unfinished):
    done, made = report(UNFINISHED.format(wait=wait), "--checks", "-race")
    assert done.returncode == 0
    assert [(one["launches"], one["unfinished"]) for one in made["processes"]] == [(1, unfinished)]
    said = run("--checks", "-race", "--", sys.executable, tmp_path / "program.py").stderr
    assert ("; 1 launch was not checked, because it did not end" in said) == (unfinished == 1), said


def test_without_the_check_of_memory_its_findings_are_left_out_and_calls_fail_as_before(report):
    text = """
        memory = made(cuda.cuMemAlloc_v2, S(64))
        check(cuda.cuMemsetD8_v2(memory, 0, S(64)))
        print(inc(0, memory))
        print(inc(0, P(memory.value + 2)))
    """
    done, made = report(text)
    assert {one["kind"] for one in made["findings"]} == {"OutOfBounds", "Misaligned"}
    done, made = report(text, "--checks", "-memory")
    assert (done.returncode, done.stdout, made["findings"]) == (0, "700\n716\n", [])


@pytest.mark.parametrize("arch, own, major", [("sm_90a", "sm_90a", 9), ("sm_100a", "sm_100f", 10), ("sm_120f", "sm_120a", 12), ("sm_120", "sm_80", 12)])
def test_the_names_of_code_for_one_architecture_name_that_architecture(report, arch, own, major):
    done, made = report(f"""
        name, number = c.create_string_buffer(64), c.c_int()
        check(cuda.cuDeviceGetName(name, 64, 0))
        check(cuda.cuDeviceGetAttribute(c.byref(number), 75, 0))
        load = lambda target: cuda.cuModuleLoadData(c.byref(P()), PTX.replace(b".version 7.0", b".version 9.0").replace(b"sm_70", target))
        print(name.value.decode(), number.value, load(b"{own}"), load(b"sm_121a"))
    """, "--arch", arch)
    assert done.stdout == f"gpuemu {arch.rstrip('af')} {major} 0 209\n", done.stderr


def test_an_architecture_that_is_not_there_is_named_with_those_that_are(report):
    with pytest.raises(FileNotFoundError):  # There is no report.
        report("", "--arch", "sm_90f")


def test_arguments_in_both_ways_are_refused(report):
    done, made = report("""
        memory, bytes = made(cuda.cuMemAlloc_v2, S(128)), S(8)
        check(cuda.cuMemsetD8_v2(memory, 0, S(128)))
        each = (P * 1)(c.addressof(memory))
        extra = (P * 5)(P(1), c.addressof(memory), P(2), c.addressof(bytes), P(0))
        launch = lambda arguments, more: cuda.cuLaunchKernel(functions[0], 1, 1, 1, 32, 1, 1, 0, None, arguments, more)
        print(launch(each, extra), launch(None, extra), launch(each, None))
    """)
    assert (done.returncode, done.stdout) == (0, "1 0 0\n"), done.stderr


def test_to_free_nothing_is_no_mistake(report):
    done, made = report("""
        print(cuda.cuMemFree_v2(P(0)), cuda.cuMemFreeAsync(P(0), None), cuda.cuMemFreeHost(None))
    """)
    assert (done.returncode, done.stdout, made["findings"]) == (0, "0 0 1\n", [])
