"""gpuemu run: work of several streams that touches the same memory with no order between (StreamRace)."""
import subprocess

import pytest

from test_run import document, run
from test_run_driver import DROP_IN, SOURCES


@pytest.fixture(scope="module")
def streams(tmp_path_factory):
    program = tmp_path_factory.mktemp("run") / "streams"
    done = subprocess.run(["gcc", "-g", "-Wall", "-Werror", "-o", program, SOURCES / "streams.c", f"-L{DROP_IN}", "-lcuda"],
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return program


def line_of(mode, text):
    """The line of `text` in the part of the program for this mode."""
    lines = (SOURCES / "streams.c").read_text().splitlines()
    first = next(number for number, line in enumerate(lines) if f'MODE("{mode}")' in line)
    return next(number for number, line in enumerate(lines[first:], first + 1) if text in line)


def found_in(program, mode, *options):
    done, report = document(*options, "--", program, mode)
    assert done.stdout == "done\n", (mode, done.stderr)
    assert {one["kind"] for one in report["findings"]} <= {"StreamRace"}, (mode, report["findings"])
    return report["findings"]


@pytest.mark.parametrize("mode", ["event", "synchronize", "query", "host function", "halves", "reads", "atomics", "fill beside",
                                  "blocking default", "reused"])
def test_work_that_is_ordered_or_meets_nowhere_is_no_race(streams, mode):
    assert found_in(streams, mode) == []


@pytest.mark.parametrize("mode", ["writes", "early event", "wrong synchronize", "blocking writes"])
def test_two_kernels_that_write_the_same_without_an_order_are_a_race(streams, mode):
    (found,) = found_in(streams, mode)
    assert found["message"].startswith("writes byte offset 0 of 'allocation 3', which kernel add in another stream writes, "), found["message"]
    assert (found["kernel"], found["file"], found["line"], found["host"]["call"]) == ("add", "scale.cu", 7, "cuLaunchKernel")
    assert found["instruction"].startswith("st.global.f32")
    other = found["other"]
    assert (other["kernel"], other["file"], other["line"], other["host"]["call"]) == ("add", "scale.cu", 7, "cuLaunchKernel")
    launches = [next(frame["line"] for frame in host["stack"] if frame["function"] == "main") for host in (other["host"], found["host"])]
    assert launches == [line_of(mode, "launch(c, N, one)"), line_of(mode, "launch(c, N, two)")]
    assert (found["allocation"]["name"], found["allocation"]["offset"]) == ("allocation 3", 0)
    assert found["allocation"]["stack"][0]["function"] == "make"


@pytest.mark.parametrize("seed", range(1, 5))
def test_a_race_does_not_depend_on_the_order_in_which_the_work_was_done(streams, seed):
    (found,) = found_in(streams, "writes", "--schedule-seed", str(seed))
    (usual,) = found_in(streams, "writes")
    assert {key: found[key] for key in ("message", "line", "other")} == {key: usual[key] for key in ("message", "line", "other")}
    assert found_in(streams, "event", "--schedule-seed", str(seed)) == []


def test_copies_and_fills_take_part_with_the_bytes_they_touch(streams):
    (found,) = found_in(streams, "copy")
    assert found["message"].startswith("cuMemcpyDtoHAsync reads byte offset 0 of 'allocation 3', which kernel add in another stream writes, ")
    assert found["kernel"] == "" and found["file"].endswith("streams.c") and found["line"] == line_of("copy", "cuMemcpyDtoHAsync")
    assert (found["other"]["kernel"], found["other"]["line"]) == ("add", 7)
    (found,) = found_in(streams, "copy first")
    assert found["message"].startswith("writes byte offset 0 of 'allocation 3', which cuMemcpyDtoHAsync in another stream reads, ")
    assert found["other"]["host"]["call"] == "cuMemcpyDtoHAsync" and found["other"]["line"] == line_of("copy first", "cuMemcpyDtoHAsync")
    (found,) = found_in(streams, "fill")
    assert "cuMemsetD8Async writes byte offset 40 of 'allocation 3'" in found["message"] and found["allocation"]["offset"] == 40
    (found,) = found_in(streams, "pinned")
    assert "byte offset 0 of 'pinned memory 5'" in found["message"] and found["other"]["kernel"] == ""
    (found,) = found_in(streams, "atomics beside a copy")
    assert "which kernel count in another stream updates" in found["message"]


def test_the_default_stream_has_no_order_with_a_stream_that_does_not_block(streams):
    (found,) = found_in(streams, "default")
    assert found["kernel"] == "add"


def test_the_text_names_both_launches(streams):
    text = run("--", streams, "writes").stderr
    first, second = line_of("writes", "launch(c, N, one)"), line_of("writes", "launch(c, N, two)")
    block = text.split("\n\n")[0]
    assert block.startswith("error[StreamRace]: writes byte offset 0") and "thread" not in block
    at, also = block.split("  and at        ")
    assert "  at            scale.cu:7, kernel add\n" in at and f"streams.c:{second} (main)" in at
    assert also.startswith("scale.cu:7, kernel add\n") and f"streams.c:{first} (main)" in also
    assert run("--", streams, "writes").returncode == 1


def test_the_check_can_be_left_out_and_asked_for_alone(streams):
    assert found_in(streams, "writes", "--checks", "-stream") == []
    assert len(found_in(streams, "writes", "--checks", "stream")) == 1


def test_streams_that_wait_for_nothing_take_little_time_and_memory(streams):
    assert found_in(streams, "many") == []
