"""`gpuemu lint`, `gpuemu baseline` and `gpuemu diff` with the real programs."""
import json
import os
import re
import shutil
import subprocess

import pytest

from conftest import cuda_tool
from projects import SCALE_PTX, TWO, kernel_op

PTXAS, NVCC, CUOBJDUMP = cuda_tool("ptxas"), cuda_tool("nvcc"), cuda_tool("cuobjdump")
needs_ptxas = pytest.mark.skipif(not PTXAS, reason="no ptxas on this machine")
needs_nvcc = pytest.mark.skipif(not NVCC, reason="no nvcc on this machine")
needs_cuobjdump = pytest.mark.skipif(not CUOBJDUMP, reason="no cuobjdump on this machine")

PTX = SCALE_PTX.replace("FACTOR", TWO)
# Forty values that are all needed at the end: ptxas cannot do with fewer registers than that.
WIDE = PTX.replace(".reg .f32 %f<3>;", ".reg .f32 %f<99>;").replace(
    "\tst.global.f32", "".join(f"\tld.volatile.global.f32 %f{i}, [%rd6+{4 * i}];\n" for i in range(3, 60))
    + "".join(f"\tadd.f32 %f2, %f2, %f{i};\n\tmul.f32 %f2, %f2, %f{62 - i};\n" for i in range(3, 60))
    + "\tst.global.f32")


def project(new_home, checks="", ptx=PTX):
    return new_home({"gpuemu.toml": kernel_op("scale", "scale.ptx", extra="") + checks, "scale.ptx": ptx,
                     "ref_twice.py": "def reference(x):\n    return 2.0 * x\n"})


def results(run):
    assert run.stdout, run.stderr
    found = json.loads(run.stdout)
    assert isinstance(found, list), found
    return found


def numbers_of_ptxas(path, arch):
    """Entry -> (registers, spill stores, spill loads, stack, shared), read by other means than ours."""
    done = subprocess.run([PTXAS, "-v", f"-arch={arch}", "-o", os.devnull, path], capture_output=True, text=True,
                          check=True)
    found = {}
    for part in done.stderr.split("Compiling entry function '")[1:]:
        frame = re.search(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads", part)
        registers = re.search(r"Used (\d+) registers", part)
        shared = re.search(r"(\d+) bytes smem", part)
        found[part.partition("'")[0]] = (int(registers[1]), int(frame[2]), int(frame[3]), int(frame[1]),
                                         int(shared[1]) if shared else 0)
    return found


def test_a_kernel_within_its_limits_passes_and_one_beyond_is_named(new_home):
    home = project(new_home)
    good = home.run("lint")
    assert good.returncode == 0 and good.stdout.startswith("[PASS] scale"), good.stdout + good.stderr
    home = project(new_home, "[kernels.artifact_checks]\nmax_instructions = 3\nforbidden_patterns = ['^mul\\.f32']\n")
    bad = home.run("lint")
    assert bad.returncode == 1 and "[FAIL] scale" in bad.stdout
    assert "18 instructions, the limit is 3 (max_instructions)" in bad.stdout
    assert "mul.f32 at line 27 of the PTX matches '^mul\\.f32'" in bad.stdout
    found = results(home.run("lint", "--format", "json"))
    assert [one["kind"] for one in found[0]["violations"]] == ["ExcessiveInstructions", "ForbiddenPatternFound"]
    assert found[0]["kernel_name"] == "scale" and found[0]["passed"] is False
    # The printed limits work when they are pasted.
    lines = bad.stdout[bad.stdout.index("[kernels.artifact_checks]"):]
    assert lines == "[kernels.artifact_checks]\nmax_instructions = 18\n"
    home = project(new_home, lines)
    assert home.run("lint").returncode == 0


@needs_ptxas
@pytest.mark.parametrize("arch", ["sm_75", "sm_80", "sm_90"])
def test_numbers_are_those_of_ptxas(new_home, arch):
    home = new_home({"wide.ptx": WIDE})
    run = home.run("lint", "wide.ptx", "--arch", arch, "--threads", 256, "--format", "json")
    [found] = results(run)
    [compiled] = found["metrics"]["compiled"]
    told = [compiled[name] for name in ("registers", "spill_store_bytes", "spill_load_bytes", "stack_bytes",
                                        "shared_bytes")]
    assert tuple(told) == numbers_of_ptxas(home.project / "wide.ptx", arch)["scale"]
    assert compiled["arch"] == arch and compiled["occupancy"]["threads"] == 256
    limit = compiled["registers"] - 1
    (home.project / "gpuemu.toml").write_text(f"[policies.artifact_checks.{arch}]\nmax_registers = {limit}\n")
    home.stop()
    beyond = home.run("lint", "wide.ptx", "--arch", arch)
    assert beyond.returncode == 1 and f"the limit is {limit} (max_registers)" in beyond.stdout


@pytest.mark.slow
@needs_ptxas
@needs_nvcc
def test_every_example_agrees_with_ptxas(gpuemu):
    """Through nvcc and ptxas by hand; the flags are those that gpuemu compiles with."""
    compared = 0
    for source in sorted((gpuemu.project / "kernels").glob("*.cu"))[:5]:
        ptx = gpuemu.home / f"{source.stem}.ptx"
        subprocess.run([NVCC, "-ptx", "-std=c++17", "-lineinfo", "-arch=compute_80", "-o", ptx, source], check=True)
        expected = numbers_of_ptxas(ptx, "sm_80")
        if not expected:
            continue  # A template: nothing instantiates it here.
        run = gpuemu.run("lint", ptx, "--arch", "sm_80", "--format", "json")
        for one in results(run):
            compiled = one["metrics"]["compiled"][0]
            assert (compiled["registers"], compiled["spill_store_bytes"], compiled["spill_load_bytes"],
                    compiled["stack_bytes"], compiled["shared_bytes"]) == expected[one["metrics"]["ptx"]["entry"]]
            compared += 1
    assert compared >= 3


@needs_ptxas
def test_files_are_measured_without_a_project(new_home):
    home = new_home({"a.ptx": PTX, "sub/b.ptx": PTX.replace("scale", "other")})
    run = home.run("lint", "a.ptx", "sub/b.ptx", "--threads", 128, "-v")
    assert run.returncode == 0, run.stderr
    assert "[PASS] scale sm_80" in run.stdout and "[PASS] other sm_80" in run.stdout
    assert "virtual registers  b32 6, b64 8, f32 3, pred 2" in run.stdout
    same = home.run("lint", "a.ptx", "a.ptx", "--format", "json")
    assert {one["kernel_name"] for one in results(same)} == {"a.ptx:scale"}


def test_a_file_is_judged_as_the_kernel_that_is_named(new_home):
    """`lint -k NAME -p FILE`, as existing tools are called."""
    home = project(new_home, "[kernels.artifact_checks]\nmax_instructions = 3\n")
    (home.project / "other.ptx").write_text(PTX)
    assert home.run("lint", "-p", "other.ptx").returncode == 0
    named = home.run("lint", "-k", "scale", "-p", "other.ptx")
    assert named.returncode == 1 and "[FAIL] scale" in named.stdout
    assert "[PASS] free" in home.run("lint", "-k", "free", "-p", "other.ptx").stdout


def test_a_cuda_source_is_compiled_and_lines_are_told(gpuemu):
    run = gpuemu.run("lint", "kernels/softmax.cu", "--format", "sarif")
    assert run.returncode in (0, 1), run.stderr
    document = json.loads(run.stdout)
    assert document["version"] == "2.1.0" and document["runs"][0]["results"] == []
    config = gpuemu.project / "gpuemu.toml"
    config.write_text(config.read_text() + "\n[policies.artifact_checks]\nmax_instructions = 1\n")
    run = gpuemu.run("lint", "kernels/softmax.cu", "--format", "sarif", "-o", "lint.sarif")
    assert run.returncode == 1 and not run.stdout
    document = json.loads((gpuemu.project / "lint.sarif").read_text())
    [found] = document["runs"][0]["results"]
    place = found["locations"][0]["physicalLocation"]
    assert found["ruleId"] == "lint/ExcessiveInstructions" and found["level"] == "error"
    assert place["artifactLocation"]["uri"] == "kernels/softmax.cu" and place["region"]["startLine"] > 1
    assert [rule["id"] for rule in document["runs"][0]["tool"]["driver"]["rules"]] == ["lint/ExcessiveInstructions"]


@needs_nvcc
@needs_cuobjdump
def test_machine_code_is_read_from_objects_and_truncated_ones_are_refused(gpuemu):
    source, built = gpuemu.project / "kernels/softmax.cu", gpuemu.project / "softmax.o"
    subprocess.run([NVCC, "-c", "-gencode", "arch=compute_80,code=sm_80", "-gencode", "arch=compute_90,code=sm_90",
                    "-o", built, source], check=True)
    found = results(gpuemu.run("lint", "softmax.o", "--format", "json"))
    assert found[0]["kernel_name"] == "softmax" and {one["arch"] for one in found[0]["metrics"]["compiled"]} == {"sm_80", "sm_90"}
    assert found[0]["metrics"]["source"] == "Sass"
    assert all(one["sass_instructions"] > 0 for one in found[0]["metrics"]["compiled"])
    (gpuemu.project / "cut.cubin").write_bytes(built.read_bytes()[:300])
    run = gpuemu.run("lint", "cut.cubin")
    assert run.returncode == 3 and "cut.cubin has no machine code that cuobjdump can read" in run.stdout


@pytest.mark.slow
@needs_nvcc
@needs_cuobjdump
def test_fatbins_and_libraries_are_read_like_objects(gpuemu):
    source = gpuemu.project / "kernels/softmax.cu"
    codes = ["-gencode", "arch=compute_80,code=sm_80", "-gencode", "arch=compute_90,code=sm_90"]
    for name, how in (("softmax.o", ["-c"]), ("softmax.fatbin", ["-fatbin"]), ("libsoftmax.so", ["-shared", "-Xcompiler", "-fPIC"]),
                      ("softmax.cubin", ["-cubin"])):
        wanted = ["-arch=sm_80"] if name.endswith("cubin") else codes
        subprocess.run([NVCC, *how, *wanted, "-o", gpuemu.project / name, source], check=True)
    measured = {}
    for name in ("softmax.o", "softmax.fatbin", "libsoftmax.so", "softmax.cubin"):
        run = gpuemu.run("lint", name, "--format", "json")
        [found] = results(run)
        assert found["kernel_name"] == "softmax", run.stdout
        measured[name] = found["metrics"]["compiled"]
    assert {one["arch"] for one in measured["softmax.o"]} == {"sm_80", "sm_90"}
    assert measured["softmax.fatbin"] == measured["softmax.o"] == measured["libsoftmax.so"]
    assert measured["softmax.cubin"] == [one for one in measured["softmax.o"] if one["arch"] == "sm_80"]


@pytest.mark.slow
@needs_nvcc
@needs_cuobjdump
def test_control_flow_of_machine_code_is_counted(gpuemu):
    """Against a listing that is read here."""
    text = gpuemu.run("lint", "kernels/softmax.cu", "--arch", "sm_80,sm_90", "--format", "json")
    for one in results(text)[0]["metrics"]["compiled"]:
        cubin = gpuemu.project / f"softmax.{one['arch']}.cubin"
        subprocess.run([NVCC, "-cubin", "-std=c++17", f"-arch={one['arch']}", "-o", cubin, gpuemu.project / "kernels/softmax.cu"], check=True)
        [code] = results(gpuemu.run("lint", cubin.name, "--format", "json"))
        [compiled] = code["metrics"]["compiled"]
        listing = subprocess.run([CUOBJDUMP, "-sass", cubin], capture_output=True, text=True, check=True).stdout
        lines = re.findall(r"/\*([0-9a-f]{4,})\*/\s+(@!?U?P\w+ )?([A-Z][A-Z0-9.]*)([^;]*);", listing)
        branches = [(int(at, 16), bool(when), rest) for at, when, name, rest in lines if name.partition(".")[0] == "BRA"]
        real = [(at, when or "," in rest, int(re.findall("0x([0-9a-f]+)", rest)[-1], 16)) for at, when, rest in branches]
        real = [(at, when, to) for at, when, to in real if when or to != at]
        control = compiled["sass_control"]
        assert control["branches"] == len(real) and control.get("conditional branches", 0) == sum(when for _, when, _ in real)
        assert control.get("loops", 0) == len({to for at, _, to in real if to <= at}) > 0
        assert control["exits"] == sum(name == "EXIT" for _, _, name, _ in lines)
        assert control.get("predicated exits", 0) == sum(name == "EXIT" and bool(when) for _, when, name, _ in lines)
    shown = gpuemu.run("lint", "kernels/softmax.cu", "-v").stdout
    assert re.search(r"control flow +branches \d+", shown), shown


@needs_ptxas
@needs_cuobjdump
def test_numbers_of_ptxas_and_of_the_finished_code_agree(gpuemu):
    """ptxas -v on the way in, cuobjdump --dump-resource-usage on the way out."""
    for arch in ("sm_80", "sm_90"):
        (gpuemu.project / "wide.ptx").write_text(WIDE)
        subprocess.run([PTXAS, f"-arch={arch}", "-o", "wide.cubin", "wide.ptx"], cwd=gpuemu.project, check=True)
        [text] = results(gpuemu.run("lint", "wide.ptx", "--arch", arch, "--format", "json"))
        [code] = results(gpuemu.run("lint", "wide.cubin", "--format", "json"))
        text, code = text["metrics"]["compiled"][0], code["metrics"]["compiled"][0]
        for name in ("arch", "registers", "stack_bytes", "shared_bytes", "sass_instructions", "sass_classes"):
            assert text[name] == code[name], (arch, name)


COUNTING = "#!/bin/sh\necho {name} >> {runs}\nexec {program} \"$@\"\n"


@needs_ptxas
@needs_cuobjdump
def test_machine_code_of_an_unchanged_text_is_made_once(new_home):
    home = project(new_home)
    (home.home / "db.cache").unlink()  # A cache of its own.
    tools, runs = home.home / "toolkit/bin", home.home / "runs"
    tools.mkdir(parents=True)
    for name, program in (("ptxas", PTXAS), ("cuobjdump", CUOBJDUMP), ("nvdisasm", os.path.join(os.path.dirname(CUOBJDUMP), "nvdisasm"))):
        (tools / name).write_text(COUNTING.format(name=name, runs=runs, program=program))
        (tools / name).chmod(0o755)
    home.env["GPUEMU_CUDA_HOME"] = str(tools.parent)

    def lint():
        """The numbers, and the tools that were run for them."""
        runs.write_text("")
        [found] = results(home.run("lint", "--format", "json"))
        assert not found.get("error"), found
        return found["metrics"]["compiled"], {*runs.read_text().split()} & {"ptxas", "cuobjdump"}

    first, ran = lint()
    assert ran == {"ptxas", "cuobjdump"} and first[0]["registers"] > 0 and first[0]["sass_instructions"] > 0
    assert lint() == (first, set())
    home.stop()
    assert lint() == (first, set()), "of another daemon, too"
    (home.project / "scale.ptx").write_text(WIDE)
    wide, ran = lint()
    assert ran and wide[0]["registers"] > first[0]["registers"]
    for kept in (home.home / "db.cache").glob("*.sass"):
        kept.write_bytes(kept.read_bytes()[:-200])
    assert lint() == (wide, {"ptxas", "cuobjdump"}), "what is damaged is made again"
    (tools / "ptxas").touch()
    assert lint() == (wide, {"ptxas", "cuobjdump"}), "another assembler, another text"


def test_what_was_measured_is_kept(new_home):
    home = project(new_home)
    assert home.run("artifacts").stdout.startswith("no metrics are stored")
    assert home.run("lint").returncode == 0
    assert home.run("artifacts").stdout.startswith("scale")
    shown = json.loads(home.run("artifacts", "-k", "scale", "--format", "json").stdout)
    assert shown["type"] == "ArtifactMetricsResult" and shown["ptx"]["entry"] == "scale"
    unknown = home.run("artifacts", "--kernel", "nine")
    assert unknown.returncode == 2 and "'nine'" in unknown.stderr


def test_overloads_of_one_name_keep_their_numbers_apart(new_home):
    two = PTX.replace("scale(", "_Z5scalePf(") + "\n" + WIDE[WIDE.index(".visible"):].replace("scale(", "_Z5scalePd(").replace("DONE", "END")
    found = results(new_home({"k.ptx": two}).run("lint", "k.ptx", "--format", "json"))
    counted = {one["kernel_name"]: one["metrics"]["ptx"]["instructions"] for one in found}
    assert set(counted) == {"_Z5scalePf", "_Z5scalePd"} and counted["_Z5scalePd"] > counted["_Z5scalePf"]


def test_a_pipe_is_refused_and_not_waited_for(new_home):
    home = new_home({})
    os.mkfifo(home.project / "pipe.ptx")
    run = home.run("lint", "pipe.ptx", timeout=30)
    assert run.returncode == 2 and "pipe" in run.stderr
    home.start()
    reply = home.ask("Inspect", files=[str(home.project / "pipe.ptx")])
    assert reply["code"] == "InvalidRequest" and "pipe.ptx" in reply["message"]
    assert home.ask("Inspect", files=["relative.ptx"])["code"] == "InvalidRequest"


def test_without_the_tools_each_is_named_once_and_nothing_is_claimed(new_home, tmp_path):
    """A machine that has neither: the search finds only what this folder holds."""
    home = project(new_home)
    installed = tmp_path / "installed"
    installed.mkdir()
    binaries = home.env["PATH"].split(":")[0]
    for name in ("gpuemu", "gpuemu-daemon", "gpuemu-worker"):
        shutil.copy(f"{binaries}/{name}", installed / name)
    command = f"mount --bind {tmp_path / 'empty'} /usr/local/cuda/bin && exec {installed}/gpuemu lint"
    (tmp_path / "empty").mkdir()
    if not os.path.isdir("/usr/local/cuda/bin") or os.geteuid() != 0:
        pytest.skip("needs the right to hide the toolkit")
    env = {**home.env, "PATH": "/usr/bin:/bin", "CUDA_HOME": ""}
    run = subprocess.run(["unshare", "-m", "sh", "-c", command], cwd=home.project, env=env, text=True,
                         capture_output=True, timeout=60)
    if "unshare" in run.stderr:
        pytest.skip(run.stderr)
    assert run.returncode == 0, run.stdout + run.stderr
    assert run.stderr.count("ptxas was not found") == 1 and run.stderr.count("cuobjdump and nvdisasm") == 1
    assert "not checked for 1 kernel: max_registers, max_spills on sm_80: ptxas was not found" in run.stdout


@pytest.mark.parametrize("files, arguments, code, said", [
    ({}, ("lint",), 2, "no gpuemu.toml"),
    ({"gpuemu.toml": ""}, ("lint",), 2, "has no [[kernels]]"),
    ({}, ("lint", "nothing.ptx"), 2, "no file"),
    ({"a/x.txt": ""}, ("lint", "a"), 2, "is a folder"),
    ({"k.ptx": PTX}, ("lint", "k.ptx", "--arch", "volta"), 2, "unknown architecture 'volta'"),
    ({"gpuemu.toml": '[[kernels]]\nname = "k"\n'}, ("lint", "-k", "nine"), 2, "no kernel 'nine'"),
    ({"k.ptx": PTX}, ("lint", "k.ptx", "-k", "a", "-k", "b"), 2, "2 kernels for files"),
    ({"k.ptx": PTX}, ("lint", "k.ptx", "-o", "/proc/x/report"), 3, "/proc/x/report"),
    ({"k.ptx": "garbage"}, ("lint", "k.ptx"), 3, "k.ptx:1:1"),
    ({"k.ptx": PTX[:400]}, ("lint", "k.ptx"), 3, "k.ptx:"),
    ({"k.ptx": ".version 7.0\n.target sm_75\n.address_size 64\n"}, ("lint", "k.ptx"), 3, "has no kernel"),
    ({"k.cu": "__global__ void k( { }"}, ("lint", "k.cu"), 3, "k.cu(1)"),
    ({"k.cu": "int f() { return 1; }"}, ("lint", "k.cu"), 3, "has no kernel"),
])
def test_bad_input_says_what_and_where(new_home, files, arguments, code, said):
    run = new_home(files).run(*arguments)
    assert run.returncode == code, run.stdout + run.stderr
    assert said in run.stdout + run.stderr


@needs_ptxas
def test_ptx_of_a_future_version_is_refused_by_name(new_home):
    run = new_home({"k.ptx": PTX.replace(".version 7.0", ".version 99.0")}).run("lint", "k.ptx")
    assert run.returncode == 3 and "Unsupported .version 99.0" in run.stdout and "k.ptx" in run.stdout


# --- baselines ----------------------------------------------------------------------------------

def test_a_regression_is_found_and_named(new_home):
    home = project(new_home)
    assert home.run("test", "--cases", 3, "--seed", 1).returncode == 0
    saved = home.run("baseline", "save", "main", "--file", "main.json")
    assert saved.returncode == 0 and "stored 3 results and 1 kernel as baseline main and in main.json" in saved.stdout
    assert home.run("diff", "--baseline", "main").returncode == 0
    (home.project / "scale.ptx").write_text(WIDE)
    for arguments in (("--baseline", "main"), ("--file", "main.json")):
        worse = home.run("diff", *arguments)
        assert worse.returncode == 1, worse.stdout + worse.stderr
        assert re.search(r"\[regression\] scale: (virtual )?registers.* -> .* \(\+", worse.stdout), worse.stdout
    assert home.run("diff", "--baseline", "main", "--no-fail").returncode == 0
    document = json.loads(home.run("diff", "--baseline", "main", "--format", "json").stdout)
    assert document["baseline_tag"] == "main" and document["has_regressions"] is True
    assert document["diffs"][0]["is_regression"] is True and len(document["comparisons"]) == 3
    (home.project / "scale.ptx").write_text(PTX.replace(TWO, "0f40400000"))
    home.run("test", "--cases", 3, "--seed", 1)
    wrong = home.run("diff", "--baseline", "main")
    assert wrong.returncode == 1 and "does not pass any more" in wrong.stdout
    assert "[constant] scale: 2f is gone" in wrong.stdout and "[constant] scale: 3f is new" in wrong.stdout


def test_baselines_are_listed_shown_and_forgotten(new_home):
    home = project(new_home)
    assert home.run("baseline", "list").stdout.startswith("no baselines")
    assert home.run("baseline", "v1").returncode == 0  # As existing tools save.
    assert home.run("baseline", "list").stdout == "v1: 0 results, 1 kernel\n"
    assert "kernel scale: " in home.run("baseline", "show", "v1").stdout
    shown = json.loads(home.run("baseline", "show", "v1", "--format", "json").stdout)
    assert (shown["type"], shown["schema_version"], shown["tag"]) == ("Baseline", 1, "v1")
    assert home.run("baseline", "delete", "v1").returncode == 0
    for arguments in (("show", "v1"), ("delete", "v1")):
        gone = home.run("baseline", *arguments)
        assert gone.returncode == 2 and "no baseline 'v1'; there are: none" in gone.stderr
    assert home.run("diff", "--baseline", "v1").returncode == 2
    assert home.run("baseline", "save").returncode == 2 and home.run("baseline").returncode == 2
    assert home.run("baseline", "save", "a", "b").returncode == 2


@pytest.mark.parametrize("text, said", [
    ("", "is not a baseline"), ("{", "is not a baseline"), ('{"type": "Ok"}', "is not a baseline"),
    ('{"type": "Baseline", "tag": "x", "results": [], "artifacts": []}', "schema version none"),
    ('{"type": "Baseline", "schema_version": 2, "tag": "x", "results": [], "artifacts": []}', "schema version 2"),
    ('{"type": "Baseline", "schema_version": 1, "tag": "x", "results": [], "artifacts": 7}', "artifacts"),
    ('{"type": "Baseline", "schema_version": 1, "tag": "x", "results": [{}], "artifacts": []}', "results.0"),
])
def test_a_baseline_file_of_another_form_is_refused(new_home, text, said):
    home = new_home({"gpuemu.toml": "", "b.json": text})
    run = home.run("diff", "--file", "b.json")
    assert run.returncode == 2 and said in run.stderr and "b.json" in run.stderr, run.stderr


def test_an_unwritable_file_leaves_the_old_one(new_home):
    home = project(new_home)
    run = home.run("baseline", "save", "main", "--file", "no/such/folder/main.json")
    assert run.returncode == 3 and "no/such/folder/main.json" in run.stderr
    assert not list(home.project.glob("**/*.tmp*"))


def test_a_locked_database_is_said(new_home):
    home = project(new_home)
    home.start()
    other = {"GPUEMU_SOCKET": str(home.home / "t" / "other.sock")}
    run = home.run("baseline", "save", "main", env=other)
    assert run.returncode == 3 and "another daemon" in run.stderr, run.stderr


def test_a_baseline_of_linted_files_is_compared_beside_the_kernels_of_the_project(new_home):
    home = new_home({"gpuemu.toml": "[project]\nname = \"p\"\n", "other.ptx": PTX, "scale.ptx": PTX.replace("scale(", "own("),
                     "ref_twice.py": "def reference(x):\n    return 2.0 * x\n"})
    assert home.run("lint", "other.ptx").returncode == 0
    assert home.run("baseline", "save", "main").returncode == 0
    (home.project / "gpuemu.toml").write_text(kernel_op("mine", "scale.ptx").replace('entry = "scale"', 'entry = "own"'))
    (home.project / "other.ptx").write_text(WIDE)
    assert home.run("lint", "other.ptx").returncode == 0
    for words in ((), ("--stored",)):
        run = home.run("diff", "--baseline", "main", *words)
        assert run.returncode == 1 and "[regression] scale" in run.stdout, run.stdout + run.stderr


def test_linted_files_join_the_baseline_of_a_project_with_kernels_when_asked_for(new_home):
    home = project(new_home)
    (home.project / "other.ptx").write_text(PTX.replace("scale(", "other("))
    assert home.run("lint", "other.ptx").returncode == 0
    run = home.run("baseline", "save", "main")
    assert run.returncode == 0 and "and 1 kernel as baseline main" in run.stdout, run.stdout + run.stderr
    assert "not in it: 1 kernel of other files that were linted (other); `gpuemu baseline save main --linted` keeps them too" in run.stdout
    run = home.run("baseline", "save", "main", "--linted")
    assert run.returncode == 0 and "and 2 kernels as baseline main" in run.stdout and "not in it" not in run.stdout, run.stdout
    (home.project / "other.ptx").write_text(WIDE.replace("scale(", "other("))
    assert home.run("lint", "other.ptx").returncode == 0
    run = home.run("diff", "--baseline", "main")
    assert run.returncode == 1 and "[regression] other" in run.stdout, run.stdout + run.stderr
