"""gpuemu run: the program itself touches memory that unfinished work uses (StreamRace), and branches of one graph do."""
import subprocess

import pytest

from test_run import document, run
from test_run_driver import DROP_IN, SOURCES


def build(folder, name):
    program = folder / name
    done = subprocess.run(["gcc", "-g", "-Wall", "-Werror", "-o", program, SOURCES / f"{name}.c", f"-L{DROP_IN}", "-lcuda"],
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return program


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    return build(tmp_path_factory.mktemp("run"), "host_access")


def line_of(mode, text):
    lines = (SOURCES / "host_access.c").read_text().splitlines()
    first = next(number for number, line in enumerate(lines) if f'MODE("{mode}")' in line)
    return next(number for number, line in enumerate(lines[first:], first + 1) if text in line)


def found_in(program, mode, *options):
    done, report = document(*options, "--", program, mode)
    assert done.stdout == "done\n", (mode, done.stderr)
    assert {one["kind"] for one in report["findings"]} <= {"StreamRace"}, (mode, report["findings"])
    return report["findings"]


@pytest.mark.parametrize("mode", ["synchronized", "event", "query", "other bytes", "system call", "source", "ordered function", "told", "telling", "freed"])
def test_the_host_may_touch_what_it_has_waited_for_and_what_no_work_meets(program, mode):
    assert found_in(program, mode) == []


@pytest.mark.parametrize("mode, begins, text", [
    ("managed read", "the host reads byte offset 12 of 'managed memory 3', which kernel add writes", "sum = managed"),
    ("managed write", "the host writes byte offset 12 of 'managed memory 3', which kernel add writes", "managed[3] = 1"),
    ("default stream", "the host reads byte offset 12 of 'managed memory 3', which kernel add writes", "sum = managed"),
    ("wrong stream", "the host reads byte offset 12 of 'managed memory 3', which kernel add writes", "sum = managed"),
    ("graph", "the host reads byte offset 12 of 'managed memory 3', which kernel add writes", "sum = managed"),
    ("registered read", "the host reads byte offset 12 of 'registered memory 5', which cuMemsetD32Async writes", "sum = own"),
    ("pinned read", "the host reads byte offset 12 of 'pinned memory 4', which cuMemcpyDtoHAsync writes", "sum = pinned"),
    ("pinned write", "the host writes byte offset 0 of 'pinned memory 4', which cuMemcpyHtoDAsync reads", "memset(pinned")])
def test_the_host_must_wait_before_it_touches_what_work_uses(program, mode, begins, text):
    (found,) = found_in(program, mode)
    assert found["message"] == f"{begins}, and the host has not waited for that: synchronize first (cuCtxSynchronize, or cuStreamSynchronize of its stream)"
    assert (found["file"].rpartition("/")[2], found["line"], found["kernel"]) == ("host_access.c", line_of(mode, text), "")
    assert found["host"]["call"] == "access of the host" and found["host"]["stack"]
    other = found["other"]
    assert (other["kernel"], other["line"]) == (("add", 7) if "kernel add" in begins else ("", line_of(mode, "cuMemset" if mode.startswith("registered") else "cuMemcpy")))


@pytest.mark.parametrize("seed", [1, 2])
def test_that_does_not_depend_on_the_order_in_which_the_work_was_done(program, seed):
    (found,) = found_in(program, "managed read", "--schedule-seed", str(seed))
    assert found["line"] == line_of("managed read", "sum = managed")
    assert found_in(program, "synchronized", "--schedule-seed", str(seed)) == []


def test_a_host_function_is_ordered_like_work_of_its_stream(program):
    (found,) = found_in(program, "host function")
    assert found["message"].startswith("a host function reads byte offset 12 of 'pinned memory 4', which cuMemcpyDtoHAsync in another stream writes, ")
    assert "cuStreamWaitEvent" in found["message"]
    source = (SOURCES / "host_access.c").read_text().splitlines()
    assert source[found["line"] - 1].strip() == "sum += pinned[3];"


def test_faults_of_the_program_itself_remain_its_own(program):
    assert found_in(program, "own handler") == []
    assert run("--", program, "crash").returncode == 128 + 11


@pytest.mark.parametrize("mode, kind, begins, of, text", [
    ("device read", "OutOfBounds", "the host reads memory of the device at address 0x", "is in 'allocation 1'", "sum = ((float*)a)"),
    ("device write", "OutOfBounds", "the host writes memory of the device at address 0x", "is in 'allocation 2'", "((float*)b)[1]"),
    ("device after free", "UseAfterFree", "the host writes memory of the device at address 0x", "was in 'allocation 2'", "((float*)b)[1]")])
def test_the_host_cannot_touch_memory_of_the_device_as_on_a_gpu(program, mode, kind, begins, of, text):
    done, report = document("--", program, mode)
    assert (done.returncode, done.stdout, report["program"]["signal"]) == (128 + 11, "", 11), done.stderr
    (found,) = report["findings"]
    assert (found["kind"], found["line"]) == (kind, line_of(mode, text))
    assert found["message"].startswith(begins) and f", which {of}: copy it" in found["message"]
    assert found["allocation"]["offset"] == (12 if mode == "device read" else 4)


def test_a_handler_of_the_program_gets_the_signal_and_a_system_call_fails(program):
    done, report = document("--", program, "device handler")
    assert (done.returncode, done.stdout) == (1, "done\n") and [one["kind"] for one in report["findings"]] == ["OutOfBounds"]
    assert found_in(program, "device system call") == []


def test_a_program_ends_where_the_system_does_not_give_the_device_its_memory_back(program):
    done = run("--", program, "no more data")
    assert done.returncode == 128 + 6
    said = [line for line in done.stderr.splitlines() if "the system does not give the device's memory back" in line]
    assert len(said) == 1 and "Cannot allocate memory" in said[0] and "raise `ulimit -d`" in said[0]


def test_the_check_can_be_left_out(program):
    assert found_in(program, "managed read", "--checks", "-stream") == []


def test_branches_of_a_graph_are_not_ordered(tmp_path):
    graph = build(tmp_path, "graph_branches")
    (found,) = found_in(graph, "branches")
    assert found["message"] == ("writes byte offset 0 of 'allocation 2', which kernel add in another branch of the graph writes, and nothing "
                                "orders the two: let one of the nodes depend on the other")
    assert (found["kernel"], found["other"]["kernel"]) == ("add", "add") and found["count"] == 3
    assert found_in(graph, "chain") == [] and found_in(graph, "halves") == []
