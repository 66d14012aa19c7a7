"""gpuemu run: which instructions ran, and how far their bits are known to be those of a GPU."""
import json
import os
import signal
import sys
import textwrap

import pytest

from test_run import document, run
from test_run_driver import add  # noqa: F401 (a fixture)

NOT_COVERED = "fidelity: not covered: the choices of ptxas (contraction, scheduling), weak memory order, timing"
HEAD = ".version 8.0\n.target sm_75\n.address_size 64\n"
# Three threads of each block of 64 leave at once; the others go around the loop four times.
LOOP = HEAD + """
.func (.param .f32 r) twice(.param .f32 a) { .reg .f32 %f<2>; ld.param.f32 %f1, [a]; add.f32 %f1, %f1, %f1; st.param.f32 [r], %f1; ret; }
.func unused() { .reg .f32 %f<2>; sqrt.approx.f32 %f0, %f1; ret; }
.visible .entry loop(.param .u64 x) {
  .reg .b64 %rd<3>; .reg .b32 %r<3>; .reg .f32 %f<3>; .reg .pred %p<3>;
  ld.param.u64 %rd1, [x]; mov.u32 %r1, %tid.x; setp.lt.u32 %p1, %r1, 3; @%p1 bra END;
  mul.wide.u32 %rd2, %r1, 4; add.u64 %rd1, %rd1, %rd2; mov.u32 %r2, 0; mov.f32 %f1, 0f3F800000;
AGAIN: { .param .f32 p, q; st.param.f32 [p], %f1; call (q), twice, (p); ld.param.f32 %f1, [q]; }
  add.u32 %r2, %r2, 1; setp.lt.u32 %p2, %r2, 4; @%p2 bra AGAIN;
  ex2.approx.f32 %f1, %f1; @!%p1 lg2.approx.f32 %f1, %f1; @%p1 sin.approx.f32 %f1, %f1; st.global.f32 [%rd1], %f1;
END: ret;
}
.visible .entry other() { .reg .f32 %f<2>; cos.approx.f32 %f0, %f1; ret; }
"""
MATRICES = HEAD.replace("sm_75", "sm_80") + """
.visible .entry product(.param .u64 x) {
  .reg .b32 %a<4>, %b<2>; .reg .f32 %d<4>; .reg .b64 %rd<2>; .reg .b32 %r;
  ld.param.u64 %rd1, [x]; mov.b32 %a0, 0; mov.b32 %a1, 0; mov.b32 %a2, 0; mov.b32 %a3, 0; mov.b32 %b0, 0; mov.b32 %b1, 0;
  mov.f32 %d0, 0f00000000; mov.f32 %d1, %d0; mov.f32 %d2, %d0; mov.f32 %d3, %d0;
  mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%d0,%d1,%d2,%d3}, {%a0,%a1,%a2,%a3}, {%b0,%b1}, {%d0,%d1,%d2,%d3};
  red.global.add.f32 [%rd1], %d0; red.global.add.u32 [%rd1+4], 1;
  ret;
}
"""
REFUSED = HEAD + """
.visible .entry refused(.param .u64 x) {
  .reg .b64 %rd<2>; .reg .b32 %r<2>; .reg .pred %p;
  ld.param.u64 %rd1, [x]; setp.ne.u64 %p, %rd1, 0; @%p suq.width.b32 %r1, [%rd1]; add.u32 %r1, %r1, 1;
  ret;
}
"""
PROGRAM = """
    import ctypes, os, sys
    cuda = ctypes.CDLL("libcuda.so.1")
    def check(code):
        assert code == 0, code
    context, module, function, x = (ctypes.c_void_p() for _ in range(4))
    check(cuda.cuInit(0))
    name, launches, threads, then = sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), sys.argv[5]
    count = ctypes.c_int()
    check(cuda.cuDeviceGetCount(ctypes.byref(count)))
    for device in range(count.value):
        check(cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), device))
        check(cuda.cuCtxSetCurrent(context))
        check(cuda.cuModuleLoadData(ctypes.byref(module), open(sys.argv[1], "rb").read()))
        check(cuda.cuModuleGetFunction(ctypes.byref(function), module, name.encode()))
        check(cuda.cuMemAlloc_v2(ctypes.byref(x), ctypes.c_size_t(4096)))
        check(cuda.cuMemsetD8_v2(x, 0, ctypes.c_size_t(4096)))
        arguments = (ctypes.c_void_p * 1)(ctypes.addressof(x))
        for _ in range(launches):
            check(cuda.cuLaunchKernel(function, 1, 1, 1, threads, 1, 1, 0, None, arguments, None))
        cuda.cuCtxSynchronize()
        check(cuda.cuModuleUnload(module))
    if then == "crash":
        os.abort()
"""


@pytest.fixture
def program(tmp_path):
    """A command that launches an entry of a PTX text."""
    def command(ptx, entry, launches=1, threads=64, then=""):
        (tmp_path / "program.py").write_text(textwrap.dedent(PROGRAM))
        (tmp_path / "kernels.ptx").write_text(ptx)
        return [sys.executable, tmp_path / "program.py", tmp_path / "kernels.ptx", entry, str(launches), str(threads), then]
    return command


def counted(tmp_path, *words, arch="sm_80"):
    done = run("--arch", arch, "--fidelity", tmp_path / "f.json", *words)
    return done, json.loads((tmp_path / "f.json").read_text())


def by_form(entries, member):
    assert len({(one["kernel"], one["form"]) for one in entries}) == len(entries)
    return {one["form"]: one[member] for one in entries}


def test_forms_are_counted_by_threads_over_launches_branches_and_calls(program, tmp_path):
    done, entries = counted(tmp_path, "--", *program(LOOP, "loop", launches=5))
    assert done.returncode == 0, done.stderr
    assert all(set(one) == {"kernel", "form", "count", "class", "why"} and one["kernel"] == "loop" and one["why"] for one in entries)
    all_, inside = 5 * 64, 5 * 61
    assert by_form(entries, "count") == {
        "ld.param.u64": all_, "mov.u32": all_ + inside, "setp.lt.u32": all_ + 4 * inside, "bra": 5 * 3 + 3 * inside,
        "mul.wide.u32": inside, "add.u64": inside, "mov.f32": inside, "ld.param.f32": 8 * inside, "st.param.f32": 8 * inside, "call": 4 * inside, "add.f32": 4 * inside,
        "add.u32": 4 * inside, "ex2.approx.f32": inside, "lg2.approx.f32": inside, "st.global.f32": inside, "ret": all_ + 4 * inside}
    classes = by_form(entries, "class")
    assert {form for form, what in classes.items() if what == "modelled"} == {"ex2.approx.f32", "lg2.approx.f32"}
    assert {form for form, what in classes.items() if what == "exact"} == {"mov.u32", "mov.f32", "add.f32", "st.global.f32"}
    assert set(classes.values()) == {"modelled", "exact", "defined"}
    assert done.stderr.splitlines()[:2] == [
        "fidelity: 16 forms: 4 exact, 10 defined, 2 modelled (ex2.approx.f32 on sm_80, lg2.approx.f32 on sm_80)", NOT_COVERED]


def test_what_a_gpu_of_the_architecture_answered_is_exact(program, tmp_path):
    _, entries = counted(tmp_path, "--", *program(LOOP, "loop"), arch="sm_90")
    assert by_form(entries, "class")["ex2.approx.f32"] == "exact" and "H200" in by_form(entries, "why")["ex2.approx.f32"]
    _, entries = counted(tmp_path, "--", *program(MATRICES, "product", threads=32), arch="sm_90")
    classes = by_form(entries, "class")
    assert classes["mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"] == "exact"
    assert classes["red.global.add.f32"] == "modelled" and classes["red.global.add.u32"] == "defined"


def test_a_sum_of_tensor_cores_that_nobody_measured_is_modelled(program, tmp_path):
    done, entries = counted(tmp_path, "--", *program(MATRICES, "product", threads=32))
    (product,) = (one for one in entries if one["form"].startswith("mma."))
    assert product["class"] == "modelled" and product["count"] == 32 and "sm_80" in product["why"]
    assert "2 modelled (mma.m16n8k16.f16 on sm_80, red.global.add.f32)\n" in done.stderr and done.returncode == 0


def test_a_form_that_the_emulator_refuses_is_unsupported(program, tmp_path):
    done, entries = counted(tmp_path, "--", *program(REFUSED, "refused"))
    classes = by_form(entries, "class")
    assert classes["suq.width.b32"] == "unsupported" and "add.u32" not in classes
    assert ", 0 modelled, 1 unsupported (suq.width.b32)\n" in done.stderr and done.returncode == 1


def test_without_the_option_the_summary_is_of_the_code_of_the_launched_kernels(program, tmp_path):
    done, report = document("--", *program(LOOP, "loop"))
    forms = by_form(report["fidelity"], "class")
    assert set(by_form(report["fidelity"], "count").values()) == {None}
    assert forms["sin.approx.f32"] == "modelled" and "cos.approx.f32" not in forms and "sqrt.approx.f32" not in forms
    assert forms["add.f32"] == "exact" and len(forms) == 17
    assert report["fidelity_not_covered"] == ["the choices of ptxas (contraction, scheduling)", "weak memory order", "timing"]
    done = run("--", *program(LOOP, "loop"))
    first, second, last = done.stderr.splitlines()
    assert first == ("fidelity: 17 forms: 4 exact, 10 defined, 3 modelled "
                     "(ex2.approx.f32 on sm_80, lg2.approx.f32 on sm_80, sin.approx.f32 on sm_80)")
    assert second == NOT_COVERED + "; these are the forms of the kernels' code, --fidelity FILE counts what is executed"
    assert last == "gpuemu: 0 findings in 1 kernel, 1 launch of 1 process"


def test_only_three_modelled_forms_are_named(program):
    more = LOOP.replace("ex2.approx.f32 %f1, %f1;", "ex2.approx.f32 %f1, %f1; rcp.approx.f32 %f1, %f1;")
    assert "4 modelled (ex2.approx.f32 on sm_80, lg2.approx.f32 on sm_80, rcp.approx.f32 on sm_80 ...)\n" in \
        run("--", *program(more, "loop")).stderr


def test_two_architectures_are_two_forms(program, tmp_path):
    done, entries = counted(tmp_path, "--devices", "sm_80,sm_90", "--", *program(LOOP, "loop"))
    assert sorted(one["class"] for one in entries if one["form"] == "ex2.approx.f32") == ["exact", "modelled"]
    assert "32 forms: 10 exact, 20 defined, 2 modelled" in done.stderr


def test_unmeasured_forms_change_the_exit_code_when_asked(program, tmp_path):
    command = program(LOOP, "loop", launches=2)
    assert run("--", *command).returncode == 0
    done = run("--fail-on", "unmeasured", "--", *command)
    assert done.returncode == 1 and done.stderr.startswith(
        "warning[Unmeasured]: the bits of ex2.approx.f32 are modelled: an approximation, of which the ISA bounds the error; "
        "recorded are the answers of an NVIDIA H200 (sm_90), not of sm_80\n"
        "  at            kernel loop, 122 times\n  instruction   ex2.approx.f32\n\nwarning[Unmeasured]"), done.stderr
    assert "gpuemu: 2 findings in 1 kernel, 2 launches of 1 process\n" in done.stderr  # sin was not executed.
    assert run("--fail-on", "unmeasured", "--error-exitcode", "5", "--", *command).returncode == 5
    assert run("--arch", "sm_90", "--fail-on", "unmeasured", "--", *command).returncode == 0
    assert run("--fail-on", "unmeasured,DataRace", "--", *command).returncode == 1
    _, report = document("--fail-on", "unmeasured", "--", *command)
    assert [(one["kind"], one["kernel"], one["instruction"], one["count"]) for one in report["findings"]] == [
        ("Unmeasured", "loop", "ex2.approx.f32", 122), ("Unmeasured", "loop", "lg2.approx.f32", 122)]
    assert {one["process"] for one in report["findings"]} == {report["processes"][0]["pid"]}
    known = tmp_path / "known.toml"
    known.write_text('[[suppress]]\nkind = "Unmeasured"\nkernel = "lo*"\nreason = "known"\n')
    assert run("--fail-on", "unmeasured", "--suppress", known, "--", *command).returncode == 0


def test_unmeasured_leaves_the_other_kinds_as_they_are(add):
    assert run("--fail-on", "unmeasured", "--", add, "right").returncode == 0
    assert run("--fail-on", "unmeasured", "--", add, "outside").returncode == 1
    assert run("--fail-on", "unmeasured,DataRace", "--", add, "outside").returncode == 0


def test_unmeasured_forms_are_in_the_formats_of_other_tools(program):
    for form in ("sarif", "junit"):
        done = run("--format", form, "--fail-on", "unmeasured", "--", *program(LOOP, "loop"))
        assert done.returncode == 1 and done.stderr.count("the bits of lg2.approx.f32 are modelled") >= 1


def test_counts_of_several_processes_add_up_and_a_crash_loses_no_form(program, tmp_path):
    words = [str(word) for word in program(LOOP, "loop")]
    twice = f"{' '.join(map(repr, words[:-1]))} ''; {' '.join(map(repr, words[:-1]))} ''"
    done, entries = counted(tmp_path, "--", "sh", "-c", twice)
    assert done.returncode == 0 and by_form(entries, "count")["ex2.approx.f32"] == 122
    done, entries = counted(tmp_path, "--", *program(LOOP, "loop", then="crash"))
    assert done.returncode == 128 + signal.SIGABRT and by_form(entries, "count")["ex2.approx.f32"] == 61


def test_a_report_of_nothing_and_one_that_cannot_be_written(tmp_path):
    done, entries = counted(tmp_path, "--", "true")
    assert entries == [] and "fidelity" not in done.stderr
    refused = run("--fidelity", tmp_path / "missing" / "f.json", "--", "touch", tmp_path / "ran")
    assert refused.returncode == 2 and "--fidelity" in refused.stderr and not (tmp_path / "ran").exists()
    unknown = run("--fail-on", "Unmeasured", "--", "true")
    assert unknown.returncode == 2 and "expected unmeasured or some of" in unknown.stderr


def test_a_quiet_run_says_nothing_of_it_unless_there_are_findings(add):
    assert run("--quiet", "--", add, "right").stderr == ""
    assert NOT_COVERED in run("--quiet", "--", add, "outside").stderr


def test_nothing_is_left_behind(program, tmp_path):
    private = tmp_path / "tmp"
    private.mkdir()
    done = run("--", *program(LOOP, "loop"), env={**os.environ, "TMPDIR": str(private)})
    assert done.returncode == 0 and list(private.iterdir()) == []
