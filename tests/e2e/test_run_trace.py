"""gpuemu run --trace: when calls and kernels ran, as Chrome's tracing reads it."""
import json
import sys
import textwrap

from test_run import run
from test_run_driver import CTYPES, add, ptx_of  # noqa: F401 (add is a fixture)
from test_run_races import streams  # noqa: F401 (a fixture)


def trace(tmp_path, *command, **options):
    """The events, and the names of the rows by process and number."""
    done = run("--trace", tmp_path / "trace.json", "--", *command, **options)
    document = json.loads((tmp_path / "trace.json").read_text())
    rows = {(one["pid"], one["tid"]): one["args"]["name"] for one in document["traceEvents"] if one["ph"] == "M"}
    events = [one for one in document["traceEvents"] if one["ph"] == "X"]
    assert len(rows) + len(events) == len(document["traceEvents"])
    assert {(one["pid"], one["tid"]) for one in events} == set(rows)
    return done, events, rows


def row_of(event, rows):
    return rows[event["pid"], event["tid"]]


def test_calls_stand_in_the_row_of_their_thread_and_kernels_in_that_of_their_stream(streams, tmp_path):
    done, events, rows = trace(tmp_path, streams, "event")
    assert done.returncode == 0 and "0 findings" in done.stderr
    calls = [one for one in events if one["cat"] == "call"]
    kernels = [one for one in events if one["cat"] == "kernel"]
    assert [one["name"] for one in calls] == [
        "cuCtxCreate", *["cuModuleLoadData", "cuModuleGetFunction"] * 2, *["cuMemAlloc", "cuMemcpyHtoD"] * 4,
        *["cuStreamCreate"] * 2, "cuEventCreate", "cuLaunchKernel", "cuEventRecord", "cuStreamWaitEvent", "cuLaunchKernel", "cuCtxSynchronize"]
    assert {row_of(one, rows) for one in calls} == {"main thread"}
    assert [one["name"] for one in kernels] == ["add", "add"]
    first, second = (row_of(one, rows) for one in kernels)
    assert first.startswith("device 0, stream ") and second.startswith("device 0, stream ") and first != second
    assert all(one["args"]["thread instructions"] > 1000 for one in kernels)
    launch, synchronize = calls[-5], calls[-1]
    assert launch["ts"] <= kernels[0]["ts"] and kernels[0]["ts"] + kernels[0]["dur"] <= kernels[1]["ts"] + kernels[1]["dur"]
    assert kernels[1]["ts"] + kernels[1]["dur"] <= synchronize["ts"] + synchronize["dur"]
    assert [one["ts"] for one in calls] == sorted(one["ts"] for one in calls)


def test_every_process_is_in_the_trace_also_one_that_crashed(add, tmp_path):
    done, events, rows = trace(tmp_path, "sh", "-c", f"{add} crash; {add} right")
    assert len({one["pid"] for one in events}) == 2 and [one["name"] for one in events if one["cat"] == "kernel"] == ["add", "add"]
    assert sorted(rows.values()) == ["device 0, default stream"] * 2 + ["main thread"] * 2


def test_a_call_is_traced_by_the_name_that_the_program_used(tmp_path):
    (tmp_path / "program.py").write_text(textwrap.dedent(CTYPES))
    done, events, _ = trace(tmp_path, sys.executable, tmp_path / "program.py", ptx_of(tmp_path))
    assert done.returncode == 0, done.stderr
    names = {one["name"] for one in events}
    assert {"cuDeviceGet", "cuDeviceGetName", "cuDevicePrimaryCtxRetain", "cuModuleLoadDataEx", "cuMemcpyDtoH"} <= names
    assert all(name.startswith("cu") or name == "add" for name in names), names


def test_a_trace_that_cannot_be_written_is_an_error_before_the_program_runs(tmp_path):
    done = run("--trace", tmp_path / "none/file", "--", "touch", tmp_path / "ran")
    assert done.returncode == 2 and f"--trace '{tmp_path}/none/file': cannot write this file" in done.stderr
    assert not (tmp_path / "ran").exists()
    run("--", sys.executable, "-c", "pass")
    assert not list(tmp_path.iterdir())
