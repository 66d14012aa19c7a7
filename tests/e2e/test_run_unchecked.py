"""gpuemu run says what it has not checked: launches that failed or could not run, and processes that went on."""
import re
import sys
import textwrap

import pytest

from test_run import document, run
from test_run_devices import BEGIN


@pytest.fixture
def program(tmp_path):
    def write(text):
        path = tmp_path / "program.py"
        path.write_text(BEGIN + textwrap.dedent(text))
        return path
    return write


LAUNCH = """
    import os, subprocess, sys
    memory = made(cuda.cuMemAlloc_v2, S(128))
    check(cuda.cuMemsetD8_v2(memory, 0, S(128)))
    assert inc(0, memory) == 0
"""


def report_of(path):
    done, made = document("--", sys.executable, path)
    assert "Traceback" not in done.stderr, done.stderr
    return done, made


def test_a_launch_that_could_not_run_is_a_finding_at_its_call(program):
    path = program("""
        STACK = PTX.replace(b".reg .b32 %r<3>;", b".local .b8 stack[16384]; .reg .b32 %r<3>;")
        memory = made(cuda.cuMemAlloc_v2, S(4096))
        check(cuda.cuMemsetD8_v2(memory, 0, S(4096)))
        function = made(cuda.cuModuleGetFunction, made(cuda.cuModuleLoadData, STACK), b"inc")
        words = (P * 1)(c.addressof(memory))
        print(cuda.cuLaunchKernel(function, 1, 1, 1, 1024, 1, 1, 0, None, words, None), cuda.cuCtxSynchronize(), inc(0, memory))
    """)
    done, made = document("--memory", "4M", "--", sys.executable, path)
    launched, waited, later = done.stdout.split()
    assert (launched, later) == ("0", "0") and waited != "0", "only the launch that could not run fails"
    (found,) = made["findings"]
    assert (found["kind"], found["severity"], found["kernel"]) == ("NotRun", "error", "inc"), found
    assert found["message"].startswith("could not run, so nothing of it was checked: "), found
    assert path.read_text().splitlines()[found["line"] - 1].startswith("print(cuda.cuLaunchKernel"), found
    assert [(one["launches"], one["unfinished"]) for one in made["processes"]] == [(2, 0)] and done.returncode == 1


def test_a_launch_that_failed_is_counted_even_where_the_program_ignores_it(program):
    path = program(LAUNCH + """
    for threads in (2048, 0):
        cuda.cuLaunchKernel(functions[0], 1, 1, 1, threads, 1, 1, 0, None, (P * 1)(c.addressof(memory)), None)
    """)
    done, made = report_of(path)
    assert (done.returncode, made["findings"]) == (0, []), "the program was told"
    assert [(one["launches"], one["rejected"]) for one in made["processes"]] == [(1, 2)]
    assert run("--", sys.executable, path).stderr.endswith("1 launch of 1 process; 2 more launches failed, which the program was told\n")


def test_launches_before_a_process_executes_another_program_stay_counted(program):
    path = program("""
    import os, sys
    memory = made(cuda.cuMemAlloc_v2, S(128))
    check(cuda.cuMemsetD8_v2(memory, 0, S(128)))
    for turn in range(3):
        assert inc(0, memory) == 0
    if len(sys.argv) == 1:
        os.execv(sys.executable, [sys.executable, __file__, "again"])
    """)
    done, made = report_of(path)
    assert [(one["launches"], one["unfinished"], one["kernels"]) for one in made["processes"]] == [(6, 0, 1)], made["processes"]


@pytest.mark.parametrize("waits", [False, True])
def test_processes_that_go_on_when_the_program_ends_are_named(program, waits):
    path = program(LAUNCH + f"""
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep({0.5 if waits else 3})"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
    {"child.wait()" if waits else "os._exit(0)"}
    """)
    done, made = report_of(path)
    assert made["program"]["left_running"] == (not waits)
    assert ("processes that " in done.stderr and "is not checked: let it wait for them" in done.stderr) == (not waits), done.stderr


def test_memory_that_is_too_large_for_records_of_its_accesses_is_named(program):
    path = program("""
    memory = made(cuda.cuMemAlloc_v2, S(520 << 20))
    check(cuda.cuMemsetD8_v2(memory, 0, S(128)))
    assert inc(0, memory) == 0 and inc(0, memory) == 0
    """)
    done, made = report_of(path)
    (found,) = made["findings"]
    assert (done.returncode, found["kind"], found["severity"], found["count"]) == (0, "Unchecked", "note", 2), found
    assert re.match(r"races in '.+' were not looked for: the emulator records accesses to 481 MiB of tensors at most", found["message"]), found
    told = run("--", sys.executable, path).stderr
    assert "note[Unchecked]: races in " in told and "gpuemu: 0 findings, 1 note in 1 kernel" in told, told
