"""gpuemu run: programs as they are, the report, exit codes, suppressions."""
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import textwrap
import time

import pytest

from conftest import BIN
from test_run_driver import CTYPES, DROP_IN, SOURCES, add, ptx_of  # noqa: F401 (add is a fixture)

GPUEMU = BIN / "gpuemu"


def run(*words, **options):
    return subprocess.run([GPUEMU, "run", *words], capture_output=True, text=True, timeout=120, **options)


def document(*words, **options):
    with tempfile.TemporaryDirectory() as folder:
        done = run("--format", "json", "--output", f"{folder}/report.json", *words, **options)
        return done, json.loads(pathlib.Path(folder, "report.json").read_text())


def test_a_right_program_ends_with_its_own_code_and_a_summary(add):
    done = run("--", add, "right")
    assert (done.returncode, done.stdout) == (0, "0 wrong\n")
    *fidelity, summary = done.stderr.splitlines()
    assert summary == "gpuemu: 0 findings in 1 kernel, 1 launch of 1 process" and len(fidelity) == 2, done.stderr
    assert run("--quiet", "--", add, "right").stderr == ""
    assert "error[OutOfBounds]" in run("--quiet", "--", add, "outside").stderr


def test_findings_name_kernel_line_launch_and_allocation_and_change_a_clean_exit(add):
    done = run("--", add, "outside")
    assert done.returncode == 1
    assert done.stdout == "synchronize gives 700, then 0\n0 wrong\n"
    block = done.stderr.split("\n\n")[0]
    assert block.startswith("error[OutOfBounds]: reads 4 bytes at byte offset 4000 of 'allocation 1', which has 4000 bytes\n")
    assert "  at            scale.cu:7, kernel add, thread (232,0,0) of block (3,0,0), 72 times\n" in block
    line = {name: number for number, text in enumerate((SOURCES / "add.c").read_text().splitlines(), 1)
            for name in ("return cuLaunchKernel", "cuMemAlloc_v2(&made") if name in text}
    assert re.search(rf"launched at   \S*add.c:{line['return cuLaunchKernel']} \(launch\)\n\s+\S*add.c:\d+ \(outside\)", block), block
    assert re.search(rf"allocated at  \S*add.c:{line['cuMemAlloc_v2(&made']} \(make\)", block), block
    assert re.search(r"\ngpuemu: 1 finding in 1 kernel, 1 launch of 1 process\n$", done.stderr)


def test_the_exit_code_can_be_chosen_and_limited_to_kinds(add):
    assert run("--error-exitcode", "9", "--", add, "outside").returncode == 9
    assert run("--error-exitcode", "0", "--", add, "outside").returncode == 0
    assert run("--fail-on", "DataRace", "--", add, "outside").returncode == 0
    assert run("--fail-on", "DataRace,OutOfBounds", "--", add, "outside").returncode == 1
    assert run("--", add, "seven").returncode == 7
    assert run("--", add, "crash").returncode == 128 + signal.SIGABRT


def test_a_program_that_crashes_loses_no_finding(add):
    done, report = document("--", add, "crash")
    assert report["program"]["signal"] == signal.SIGABRT and report["exit_code"] == done.returncode == 134
    assert {one["kind"] for one in report["findings"]} == {"OutOfBounds"}


def test_json_has_every_member_that_programs_read(add):
    done, report = document("--", add, "outside")
    assert report["schema"] == "gpuemu-run/1" and report["command"] == [str(add), "outside"]
    assert report["exit_code"] == 1 == done.returncode and report["program"]["exit_code"] == 0
    (process,) = report["processes"]
    assert process["launches"] == 1 and process["command"][0] == str(add)
    first = report["findings"][0]
    assert first["kind"] == "OutOfBounds" and first["severity"] == "error" and first["kernel"] == "add"
    assert (first["file"], first["line"]) == ("scale.cu", 7) and first["instruction"].startswith("ld.global.f32")
    assert first["block"] == [3, 0, 0] and first["thread"] == [232, 0, 0] and first["count"] == 72
    assert first["allocation"]["bytes"] == 4000 and first["allocation"]["offset"] == 4000
    assert first["allocation"]["stack"][0]["function"] == "make"
    assert first["host"]["call"] == "cuLaunchKernel" and first["host"]["stack"][0]["function"] == "launch"
    assert first["process"] == process["pid"] and first["suppressed"] is False and report["unsupported"] == []


def test_wrong_calls_of_the_host_are_findings_at_their_line(add):
    _, report = document("--", add, "twice")
    (found,) = report["findings"]
    assert found["kind"] == "InvalidFree" and found["file"].endswith("add.c") and found["line"] > 0
    assert found["allocation"]["freed"][0]["function"] == "twice"
    _, report = document("--checks", "-api", "--", add, "twice")
    assert report["findings"] == []


def test_a_list_of_checks_replaces_the_default(add):
    _, report = document("--checks", "init,race", "--", add, "twice")
    assert report["findings"] == []
    _, report = document("--checks", "api", "--", add, "twice")
    assert [one["kind"] for one in report["findings"]] == ["InvalidFree"]


def test_calls_that_are_not_there_are_listed(add):
    _, report = document("--", add, "wrong")
    assert report["unsupported"] == [{"call": "cuIpcGetMemHandle", "count": 2}]


def test_leaks_are_reported_when_asked_for(add):
    assert run("--", add, "stream").returncode == 0
    done, report = document("--checks", "+leak", "--", add, "stream")
    assert done.returncode == 1 and [one["kind"] for one in report["findings"]] == ["Leak"]
    assert report["findings"][0]["count"] == 3 and report["findings"][0]["file"].endswith("add.c")
    assert run("--checks", "+leak", "--", add, "right").returncode == 0


def test_a_fault_can_stay_or_be_ignored(add):
    assert run("--on-finding", "sticky", "--", add, "outside").stdout.startswith("synchronize gives 700, then 700")
    assert run("--on-finding", "ignore", "--", add, "outside").stdout.startswith("synchronize gives 0, then 0")
    assert run("--", add, "later").stdout == "allocate gives 0\n"
    assert run("--on-finding", "sticky", "--", add, "later").stdout == "allocate gives 700\n"


def test_suppressed_findings_count_nowhere_and_an_entry_that_matches_nothing_is_named(add, tmp_path):
    known = tmp_path / "known.toml"
    known.write_text('[[suppress]]\nkind = "OutOfBounds"\nkernel = "a*"\nreason = "known"\n'
                     '[[suppress]]\nkind = "DataRace"\nreason = "gone"\n')
    done = run("--suppress", known, "--", add, "outside")
    assert done.returncode == 0 and f"the suppression at {known}:5 matches no finding" in done.stderr
    assert "0 findings" in done.stderr and "suppressed" in done.stderr and "error[" not in done.stderr
    _, report = document("--suppress", known, "--", add, "outside")
    assert all(one["suppressed"] for one in report["findings"]) and report["findings"]
    known.write_text('[[suppress]]\nkind = "OutOfBounds"\n')
    refused = run("--suppress", known, "--", add, "right")
    assert refused.returncode == 2 and "needs a reason" in refused.stderr


def test_a_template_of_suppressions_suppresses_what_it_was_made_of(add, tmp_path):
    known = tmp_path / "known.toml"
    assert run("--suppress-template", known, "--", add, "outside").returncode == 1
    known.write_text(known.read_text().replace('reason = ""', 'reason = "accepted"'))
    assert run("--suppress", known, "--", add, "outside").returncode == 0


def test_the_report_goes_to_a_file(add, tmp_path):
    done = run("--output", tmp_path / "report.txt", "--", add, "outside")
    assert done.stderr == "" and "error[OutOfBounds]" in (tmp_path / "report.txt").read_text()


def test_python_programs_have_frames_of_python(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(textwrap.dedent(CTYPES).replace("c_uint32(N)", "c_uint32(N + 1)").replace("function, 2,", "function, 3,"))
    done, report = document("--", sys.executable, program, ptx_of(tmp_path))
    found = next(one for one in report["findings"] if one["kernel"] == "add")
    launch = next(number for number, text in enumerate(program.read_text().splitlines(), 1) if "cuLaunchKernel(function" in text)
    assert found["host"]["stack"] == [{"function": "<module>", "file": str(program), "line": launch}]
    assert found["allocation"]["stack"][0]["file"] == str(program)


def test_processes_below_are_followed(add):
    done, report = document("--", "sh", "-c", f"{add} outside; {add} right")
    assert done.returncode == 1 and len(report["processes"]) == 2
    assert {one["kind"] for one in report["findings"]} == {"OutOfBounds"}


def test_devices_are_as_asked_for(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(textwrap.dedent("""
        import ctypes
        cuda = ctypes.CDLL("libcuda.so.1")
        assert cuda.cuInit(0) == 0
        count, version = ctypes.c_int(), ctypes.c_int()
        cuda.cuDeviceGetCount(ctypes.byref(count))
        cuda.cuDriverGetVersion(ctypes.byref(version))
        total, name = ctypes.c_size_t(), ctypes.create_string_buffer(32)
        for device in range(count.value):
            cuda.cuDeviceTotalMem_v2(ctypes.byref(total), device)
            cuda.cuDeviceGetName(name, 32, device)
            print(name.value.decode(), total.value >> 20)
        found, status = ctypes.c_void_p(), ctypes.c_int()
        cuda.cuGetProcAddress_v2(b"cuCtxRecordEvent", ctypes.byref(found), 13000, ctypes.c_uint64(0), ctypes.byref(status))
        print(version.value, status.value)
        """))
    done = run("--devices", "sm_80,sm_90:16384", "--memory", "512M", "--cuda-version", "12.4", "--", sys.executable, program)
    assert done.stdout == "gpuemu sm_80 512\ngpuemu sm_90 16384\n12040 2\n"  # cuCtxRecordEvent came with 12.5.
    assert run("--arch", "sm_90", "--devices", "2", "--memory", "1G", "--", sys.executable, program).stdout == (
        "gpuemu sm_90 1024\n" * 2 + "13000 0\n")


def test_wrong_use_says_what_is_expected(add):
    for words, said in [(["--arch", "sm_81"], "expected sm_75, sm_80"), (["--memory", "8X"], "expected a size"),
                        (["--checks", "+speed"], "unknown check 'speed'"), (["--timeout", "soon"], "expected a time"),
                        (["--devices", "17"], "--devices '17'"), (["--cuda-version", "9.0"], "expected 11.0 to 13.0"),
                        (["--fail-on", "DataRaces"], "unknown kind 'DataRaces'"), (["--max-findings", "0"], "--max-findings"),
                        (["--launch-timeout", "0"], "--launch-timeout"), (["--on-finding", "stop"], "--on-finding"),
                        (["--error-exitcode", "256"], "--error-exitcode")]:
        done = run(*words, "--", add)
        assert done.returncode == 2 and said in done.stderr, done.stderr
    assert run().returncode == 2


def test_a_program_that_is_not_there_or_not_executable_gives_the_codes_of_a_shell(tmp_path):
    (tmp_path / "text").write_text("no program")
    assert run("--", tmp_path / "none").returncode == 127
    assert run("--", tmp_path / "text").returncode == 126


def test_programs_in_which_no_library_can_take_the_place_of_the_driver_are_refused_before_they_run(tmp_path):
    source = tmp_path / "program.c"
    source.write_text('__attribute__((section(".nvFatBinSegment"))) int wrapper[6] = {1};\n'
                      '#include <stdio.h>\nint main(void) { puts("ran"); return 0; }\n')
    def build(name, *options):
        assert subprocess.run(["gcc", "-o", tmp_path / name, source, *options]).returncode == 0
        return tmp_path / name
    refused = run("--", build("with_runtime"))
    assert refused.returncode == 3 and refused.stdout == "", refused.stdout
    assert "with_runtime contains NVIDIA's runtime library" in refused.stderr and "gpuemu nvcc" in refused.stderr
    found = run("--", "with_runtime", env={**os.environ, "PATH": f"/nowhere:{tmp_path}:{os.environ['PATH']}"})
    assert found.returncode == 3 and "with_runtime contains NVIDIA's runtime library" in found.stderr
    source.write_text(source.read_text().split("\n", 1)[1])
    refused = run("--", build("static", "-static"))
    assert refused.returncode == 3 and "static is linked statically" in refused.stderr and refused.stdout == ""
    program = build("setuid")
    assert run("--", program).stdout == "ran\n"
    program.chmod(0o4755)
    assert run("--", program).returncode == 3 and "is setuid or setgid" in run("--", program).stderr
    # A program that needs the shared runtime library is none of these.
    (tmp_path / "library.c").write_text("int cudaRuntimeGetVersion(int* version) { return *version != 0; }\n")
    library = tmp_path / "libcudart.so.13"
    assert subprocess.run(["gcc", "-shared", "-fPIC", "-o", library, tmp_path / "library.c", "-Wl,-soname,libcudart.so.13"]).returncode == 0
    source.write_text('int cudaRuntimeGetVersion(int*);\n__attribute__((section(".nvFatBinSegment"))) int wrapper[6] = {1};\n'
                      "int main(void) { int version = 1; return cudaRuntimeGetVersion(&version); }\n")
    assert run("--", build("shared", library, f"-Wl,-rpath,{tmp_path}")).returncode == 0


def test_a_python_without_a_start_file_of_its_own_starts_without_a_word():
    # As in an interpreter whose folders have no sitecustomize: only that of gpuemu, in PYTHONPATH, is left.
    code = "import os, sys; sys.path[:] = os.environ['PYTHONPATH'].split(':')[:1] + [p for p in sys.path if p.endswith(('python3.%d' % sys.version_info[1], 'lib-dynload'))]"
    done = run("--quiet", "--", sys.executable, "-S", "-c", f"{code}; import sitecustomize; print('started')")
    assert (done.returncode, done.stdout, done.stderr) == (0, "started\n", "")


def test_a_program_that_takes_too_long_is_ended(tmp_path):
    began = time.monotonic()
    assert run("--timeout", "1s", "--", "sleep", "60").returncode == 124
    assert time.monotonic() - began < 30


DRIVER = """
    import ctypes, sys
    cuda = ctypes.CDLL("libcuda.so.1")
    context, module, function = (ctypes.c_void_p() for _ in range(3))
    assert cuda.cuInit(0) == 0 and cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) == 0
    assert cuda.cuCtxSetCurrent(context) == 0
"""


def program_of(folder, body):
    path = folder / "program.py"
    path.write_text(textwrap.dedent(DRIVER) + textwrap.dedent(body))
    return path


def test_a_kernel_that_takes_too_long_is_ended(tmp_path):
    program = program_of(tmp_path, """
        ptx = (b".version 7.0 .target sm_70 .address_size 64 .visible .entry spin() "
               b"{ .reg .b32 %r; mov.b32 %r, 0; AGAIN: add.u32 %r, %r, 1; bra AGAIN; }")
        assert cuda.cuModuleLoadData(ctypes.byref(module), ptx) == 0
        assert cuda.cuModuleGetFunction(ctypes.byref(function), module, b"spin") == 0
        assert cuda.cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, None, None, None) == 0
        print(cuda.cuCtxSynchronize())
        """)
    began = time.monotonic()
    done, report = document("--launch-timeout", "1", "--", sys.executable, program)
    assert done.stdout == "702\n" and [one["kind"] for one in report["findings"]] == ["Timeout"]
    assert time.monotonic() - began < 25  # The default is 30 s.


def test_a_kernel_that_touches_freed_memory_is_told_where_it_was_freed(tmp_path):
    program = program_of(tmp_path, """
        ptx = (b".version 7.0 .target sm_70 .address_size 64 .visible .entry put(.param .u64 p) "
               b"{ .reg .b64 %a; ld.param.u64 %a, [p]; st.global.u32 [%a+4], 1; ret; }")
        assert cuda.cuModuleLoadData(ctypes.byref(module), ptx) == 0
        assert cuda.cuModuleGetFunction(ctypes.byref(function), module, b"put") == 0
        def make(bytes):
            made = ctypes.c_uint64()
            assert cuda.cuMemAlloc_v2(ctypes.byref(made), ctypes.c_size_t(bytes)) == 0
            return made
        def put(at):
            values = (ctypes.c_void_p * 1)(ctypes.cast(ctypes.byref(at), ctypes.c_void_p))
            assert cuda.cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, None, values, None) == 0
            return cuda.cuCtxSynchronize()
        def drop(at):
            assert cuda.cuMemFree_v2(at) == 0
        old = make(64)
        first = put(old)
        drop(old)
        others = [make(64) for _ in range(100)]  # None takes the place of the freed one.
        print(first, put(old), [put(one) for one in others] == [0] * 100)
        """)
    done, report = document("--", sys.executable, program)
    (found,) = report["findings"]
    assert done.stdout == "0 700 True\n" and found["kind"] == "UseAfterFree" and found["count"] == 1
    assert "writes 4 bytes at byte offset 4 of 'allocation 1', which was freed" in found["message"], found["message"]
    assert found["allocation"]["stack"][0]["function"] == "make" and found["allocation"]["freed"][0]["function"] == "drop"
    assert found["ptx_kernel"] == "put" and found["host"]["stack"][0]["function"] == "put"


@pytest.mark.slow
def test_memory_that_is_freed_again_and_again_is_not_kept_for_ever(tmp_path):
    program = program_of(tmp_path, """
        import resource
        def turn(bytes):
            made = ctypes.c_uint64()
            assert cuda.cuMemAlloc_v2(ctypes.byref(made), ctypes.c_size_t(bytes)) == 0
            assert cuda.cuMemFree_v2(made) == 0
        for _ in range(40):
            turn(64 << 20)
        for _ in range(10000):
            turn(256)
        print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10)
        """)
    done, report = document("--", sys.executable, program)
    assert report["findings"] == [] and done.returncode == 0
    assert int(done.stdout) < 1024, "MiB, of 2.5 GiB that were freed"


def test_a_seed_chooses_the_order_of_independent_streams(tmp_path):
    program = program_of(tmp_path, """
        said = []
        say = [ctypes.CFUNCTYPE(None, ctypes.c_void_p)(lambda _, letter=letter: said.append(letter)) for letter in "abAB"]
        streams = [ctypes.c_void_p() for _ in range(2)]
        for stream in streams:
            assert cuda.cuStreamCreate(ctypes.byref(stream), 1) == 0
        for i, function in enumerate(say):
            assert cuda.cuLaunchHostFunc(streams[i % 2], function, None) == 0
        assert cuda.cuCtxSynchronize() == 0
        print("".join(said))
        """)
    said = [run("--schedule-seed", str(seed), "--", sys.executable, program).stdout for seed in (1, 1, *range(2, 9))]
    assert said[0] == said[1] and len(set(said)) > 1, said
    assert all(sorted(one) == sorted("abAB\n") and one.index("a") < one.index("A") for one in said)


def test_findings_beyond_the_limit_are_left_out_and_that_is_said(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(textwrap.dedent(CTYPES).replace("c_uint32(N)", "c_uint32(N + 1)").replace("function, 2,", "function, 3,"))
    ptx = ptx_of(tmp_path)
    ptx.write_text(ptx.read_text().replace("ld.global.f32 %f2", "\n.loc 1 8 1\nld.global.f32 %f2"))
    done, report = document("--", sys.executable, program, ptx)
    assert {one["line"] for one in report["findings"]} == {7, 8} and "--max-findings" not in done.stderr
    done, report = document("--max-findings", "1", "--", sys.executable, program, ptx)
    assert len(report["findings"]) == 1 and "more than 1 different finding" in done.stderr


def test_a_report_that_cannot_be_written_is_an_error_before_the_program_runs(tmp_path):
    for option in ("--output", "--suppress-template"):
        done = run(option, tmp_path / "none/file", "--", "touch", tmp_path / "ran")
        assert done.returncode == 2 and f"{option} '{tmp_path}/none/file': cannot write this file" in done.stderr
    assert not (tmp_path / "ran").exists()


def test_damaged_settings_and_a_findings_file_that_cannot_be_written_are_reported(add):
    done = run("--", "sh", "-c", f"echo broken > $GPUEMU_RUN/settings.json; exec {add} right")
    assert done.returncode == 4 and "cannot start: the settings of gpuemu run are unreadable: " in done.stderr
    done = run("--", "sh", "-c", f"mkdir $GPUEMU_RUN/$$.run; exec {add} outside")
    assert done.returncode == 3 and "the report lacks findings of process" in done.stderr
    assert "cannot read the findings in" in done.stderr


def test_signals_are_passed_on():
    program = subprocess.Popen([GPUEMU, "run", "--", "sh", "-c", "trap 'exit 5' TERM; echo ready; while :; do sleep 0.1; done"],
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert program.stdout.readline() == "ready\n"
    program.send_signal(signal.SIGTERM)
    program.communicate(timeout=60)
    assert program.returncode == 5


def test_a_dry_run_prints_what_would_be_set(add):
    done = run("--dry-run", "--", add, "right")
    assert done.returncode == 0 and f"{add} right" in done.stdout
    assert f"LD_LIBRARY_PATH={DROP_IN}" in done.stdout and "TRITON_LIBCUDA_PATH" in done.stdout and "GPUEMU_RUN" in done.stdout


def test_many_launches_are_counted_and_take_little_more_than_the_kernels(add):
    done = run("--", add, "many")
    assert done.stderr.splitlines()[-1] == "gpuemu: 0 findings in 1 kernel, 1000 launches of 1 process"


def test_a_program_that_launches_nothing_is_said_to_be_unchecked():
    done = run("--", "true")
    assert done.returncode == 0
    assert done.stderr == "gpuemu: 0 findings in 0 kernels, 0 launches of 0 processes; no kernel was launched, so none was checked\n"
