"""A run that did not do all its work is never green: it exits with 3 and says what was not run."""
import json
import os
import re
import signal
import subprocess
import sys
import time
import xml.etree.ElementTree as ElementTree

import pytest

from conftest import BIN, ROOT
from projects import SCALE_PTX, THREE, TWO, kernel_op, process_script

SLOW = "import time\n\n\ndef reference(x):\n    time.sleep(0.2)\n    return 2.0 * x\n"


def project(cases=1000, second=TWO, reference=SLOW, extra=""):
    """Two ops; with THREE the second one is wrong."""
    config = f"[validation]\nseed = 7\ncases = {cases}\n[runtime]\nbackend = \"emulator\"\nworkers = 1\n"
    return {"gpuemu.toml": config + extra + kernel_op("first", "first.ptx") + kernel_op("second", "second.ptx"),
            "first.ptx": SCALE_PTX.replace("FACTOR", TWO), "second.ptx": SCALE_PTX.replace("FACTOR", second),
            "ref_twice.py": reference}


def stopped(home, words, how, after=1.5):
    """The command, whose daemon ends in this way once it has run for some seconds."""
    home.start()
    process = subprocess.Popen([BIN / "gpuemu", *words], cwd=home.project, env=home.env, text=True,
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    time.sleep(after)
    assert process.poll() is None, process.communicate()
    how(home)
    out, err = process.communicate(timeout=120)
    return process.returncode, out, err


def terminate(home):
    os.kill(home.daemon_pid(), signal.SIGTERM)


def kill(home):
    os.kill(home.daemon_pid(), signal.SIGKILL)


def stop(home):
    assert home.run("daemon", "stop").returncode == 0


def stop_now(home):
    stopping = home.run("daemon", "stop", "--now")
    assert stopping.returncode == 0 and "daemon is stopped" in stopping.stdout, stopping.stderr


WAYS = (terminate, kill, stop, stop_now)
SOME = [("test", stop_now), ("test", kill), ("fuzz", stop), ("ci", terminate)]
OTHERS = [(command, how) for command in ("test", "fuzz", "ci") for how in WAYS if (command, how) not in SOME]


@pytest.mark.parametrize("command, how", [*SOME, *(pytest.param(*one, marks=pytest.mark.slow) for one in OTHERS)])
def test_a_run_whose_daemon_ends_is_no_success(new_home, command, how):
    home = new_home(project(second=THREE))
    words = {"test": ["test"], "fuzz": ["fuzz", "-i", "5000"], "ci": ["ci", "--no-cache", "--report", "junit=j.xml"]}[command]
    code, out, err = stopped(home, words, how)
    said = out + err
    assert code == 3, said
    assert "incomplete" in err, said
    assert not re.search(r"(the daemon was stopped; .* had run); \1", said), said
    assert not re.search(r"\[PASS\] (first|second) (float32|\(seed)", out), out
    if how is kill:
        return
    # What was not run is named, op by op.
    assert "second" in said, said
    if command == "test":
        assert re.search(r"\[ERROR\] first float32: interrupted after \d+ of 1000 cases", out), out
        assert re.search(r"\[ERROR\] second float32: interrupted after \d+ of 1000 cases", out), out
        assert re.search(r"the daemon was stopped; \d+ of \d+ cases had run", err), err
    if command == "ci":
        total = re.search(r"the daemon was stopped; \d+ of (\d+) cases had run", err)
        assert total and int(total[1]) % 1000 == 0, f"kernels that are measured are no cases: {err}"
        root = ElementTree.parse(home.project / "j.xml").getroot()
        assert int(root.get("failures")) > 0


def test_no_document_of_an_incomplete_run_is_green(new_home):
    home = new_home(project())
    others = [word for form in ("junit", "sarif", "pr-comment", "html") for word in ("--report", f"{form}={form}.out")]
    code, out, err = stopped(home, ["ci", "--no-cache", "--format", "json", *others], terminate)
    assert code == 3 and "incomplete" in err, out + err
    summary = json.loads(out)
    assert "the daemon was stopped" in summary["incomplete"] and all(op["error"] for op in summary["ops"]), summary
    junit, sarif, comment, page = [(home.project / f"{form}.out").read_text() for form in ("junit", "sarif", "pr-comment", "html")]
    assert int(ElementTree.fromstring(junit).get("failures")) > 0
    assert "validation/NotRun" in {one["ruleId"] for one in json.loads(sarif)["runs"][0]["results"]}
    for text in (comment, page):
        assert "all good" not in text and "the daemon was stopped" in text, text


def test_the_json_of_an_incomplete_test_says_so(new_home):
    home = new_home(project())
    code, out, _ = stopped(home, ["test", "--format", "json"], terminate)
    report = json.loads(out)
    assert code == 3 and "the daemon was stopped" in report["incomplete"], out
    assert all(op["not_run"] > 0 and op["skipped_reason"].startswith("error: ") for op in report["ops"]), report["ops"]


@pytest.mark.parametrize("words", [["calibrate", "first", "--cases", "2000"],
                                   pytest.param(["mutate", "first", "--cases", "50"], marks=pytest.mark.slow),
                                   pytest.param(["coverage", "--kernel", "first", "--cases", "2000"], marks=pytest.mark.slow)])
def test_other_commands_whose_daemon_ends_exit_with_3_too(new_home, words):
    home = new_home(project())
    code, out, err = stopped(home, words, terminate)
    assert code == 3 and err, out + err
    # What was given up counts as work that was not done.
    counts = re.search(r"the daemon was stopped; (\d+) of (\d+) cases had run", err)
    assert counts is None or int(counts[1]) < int(counts[2]), err


def test_a_minimization_whose_daemon_ends_exits_with_3(new_home):
    home = new_home(project(cases=1, second=THREE))
    assert home.run("test", "second").returncode == 1
    seed = home.run("failures").stdout.split()[0]
    home.stop()
    slower = SLOW.replace("0.2", "2")
    (home.project / "ref_twice.py").write_text(slower)
    code, out, err = stopped(home, ["minimize", seed], terminate)
    assert code == 3 and "the daemon was stopped" in err, out + err


@pytest.mark.parametrize("words", [["explain"], ["export"], ["reproduce"]])
def test_a_command_about_a_failure_whose_daemon_ends_exits_with_3(new_home, words):
    home = new_home(project(cases=1, second=THREE))
    assert home.run("test", "second").returncode == 1
    seed = home.run("failures").stdout.split()[0]
    home.stop()
    (home.project / "ref_twice.py").write_text(SLOW.replace("0.2", "100"))
    code, out, err = stopped(home, [*words, seed], terminate, after=3)
    assert code == 3 and "the daemon was stopped" in err, out + err
    assert not (home.project / f"gpuemu-export-{seed}").exists()


@pytest.mark.parametrize("words", [["lint"], ["prove"]])
def test_a_command_that_compiles_whose_daemon_ends_exits_with_3(new_home, words):
    home = new_home({"gpuemu.toml": kernel_op("slow", "slow.cu"), "ref_twice.py": SLOW, "slow.cu": 'extern "C" __global__ void scale() {}\n'})
    toolkit = home.home / "toolkit"
    for folder in ("bin", "lib64"):
        (toolkit / folder).mkdir(parents=True)
    (toolkit / "lib64/libnvrtc.so.13").touch()  # Cannot be loaded, so that nvcc is what runs.
    (toolkit / "bin/nvcc").write_text("#!/bin/sh\nexec sleep 300\n")
    (toolkit / "bin/nvcc").chmod(0o755)
    home.env["GPUEMU_CUDA_HOME"] = str(toolkit)
    code, out, err = stopped(home, words, terminate)
    assert code == 3 and err, out + err


def test_fail_fast_says_what_it_left_out(new_home):
    home = new_home(project(cases=40, second=THREE, reference="def reference(x):\n    return 2.0 * x\n"))
    run = home.run("test", "second", "first", "--fail-fast")
    assert run.returncode == 1 and "[FAIL] second" in run.stdout, run.stdout
    assert re.search(r"\d+ of 40 cases ran: the run ended at its first failing case", run.stdout), run.stdout
    fuzzed = home.run("fuzz", "second", "-i", "200", "--fail-fast")
    assert fuzzed.returncode == 1 and "--fail-fast left out" in fuzzed.stdout, fuzzed.stdout


def test_a_job_of_another_daemon_is_nobodys(new_home):
    home = new_home(project())
    ids = []
    for _ in range(2):
        home.start()
        ids.append(home.ask("RunTests", ops=["first"], cases=1, stream=True)["job_id"])
        assert ids[-1] < 2**53, "a double holds it"
        home.stop()
    assert ids[0] != ids[1]


def test_the_python_client_raises_when_the_daemon_is_stopped(new_home, monkeypatch):
    import threading

    import gpuemu
    home = new_home(project())
    home.start()
    threading.Timer(1.5, terminate, [home]).start()
    with gpuemu.Client(str(home.socket)) as client, pytest.raises(gpuemu.IncompleteError, match="the daemon was stopped") as raised:
        client.run_tests()
    assert raised.value.result.total < 2000 and raised.value.result.broken


# --- ops with scripts

SCRIPTS = """[validation]
seed = 7
cases = 3
[runtime]
backend = "emulator"
workers = 1
[[ops]]
name = "good"
reference = "ref.py"
op_script = "good.py"
execution_mode = "script_based"
input_names = ["x"]
[[ops]]
name = "planted"
reference = "ref.py"
op_script = "planted.py"
execution_mode = "script_based"
input_names = ["x"]
"""


def scripts(planted="x * 3"):
    return {"gpuemu.toml": SCRIPTS, "ref.py": process_script("x * 2"), "good.py": process_script("x + x"),
            "planted.py": process_script(planted)}


def test_ops_with_scripts_are_tested_and_fuzzed(new_home):
    home = new_home(scripts())
    run = home.run("test")
    assert run.returncode == 1 and "[PASS] good float32 3 cases" in run.stdout and "[FAIL] planted" in run.stdout, run.stdout
    assert not re.search(r"case:$", run.stdout, re.MULTILINE), run.stdout
    report = json.loads(home.run("test", "--format", "json").stdout)
    assert [(one["op_name"], one["cases"], one["failed"]) for one in report["ops"]] == [("good", 3, 0), ("planted", 3, 3)]
    assert report["total"] == 6 and report["skipped"] == 0
    fuzzed = home.run("fuzz", "-i", "2")
    assert fuzzed.returncode == 1 and "[PASS] good" in fuzzed.stdout and "[FAIL] planted" in fuzzed.stdout, fuzzed.stdout


@pytest.mark.slow
def test_their_cases_have_seeds_of_their_own_and_are_all_listed(new_home):
    home = new_home(scripts())
    for _ in range(2):  # The second run has what the first one kept.
        run = home.run("ci", "--quick", "--report", "junit=j.xml", "--format", "json")
        summary = json.loads(run.stdout)
        listed = [(one["op_name"], one["passed"]) for one in summary["validation_results"]]
        assert run.returncode == 1 and listed.count(("good", True)) == 10 and listed.count(("planted", False)) == 10, listed
        seeds = {name: {one["seed"] for one in summary["validation_results"] if one["op_name"] == name} for name in ("good", "planted")}
        assert not seeds["good"] & seeds["planted"]
        names = [case.get("name") for case in ElementTree.parse(home.project / "j.xml").iter("testcase")]
        assert names.count("good") == 10 and names.count("planted") == 10, names


def test_a_seed_that_several_ops_failed_with_means_the_newest_failure(new_home):
    home = new_home({**scripts(), "good.py": process_script("x * 4")})
    assert home.run("fuzz", "-i", "1", "--seed", "5").returncode == 1
    seeds = [line.split()[0] for line in home.run("failures").stdout.splitlines()]
    assert len(seeds) == 2 and seeds[0] == seeds[1], seeds
    bare = home.run("reproduce", seeds[0])
    assert bare.returncode == 0 and "of planted: fails" in bare.stdout, bare.stdout
    named = home.run("reproduce", seeds[0], "--op", "good")
    assert named.returncode == 0 and "of good: fails" in named.stdout, named.stdout


def test_a_minimized_case_of_a_script_names_its_shapes(new_home):
    home = new_home(scripts())
    assert home.run("fuzz", "planted", "-i", "2", "--seed", "5").returncode == 1
    said = home.run("minimize", "last").stdout
    assert re.search(r"^minimized in \d+ trials: \[\d.*\] -> \[1.*\]$", said, re.MULTILINE) and "0 of 0" not in said, said


SLOW_SCRIPT = "import pathlib, time\npathlib.Path('FILE').touch()\ntime.sleep(30)\n"


@pytest.mark.parametrize("words", [("fuzz", "good"), ("test", "good"), ("ci",)])
def test_a_script_that_an_interruption_ended_is_no_failure(new_home, words):
    home = new_home(scripts("x + x"))
    began = home.home / "began"
    (home.project / "good.py").write_text(SLOW_SCRIPT.replace("FILE", str(began)) + process_script("x + x"))
    home.start()
    process = subprocess.Popen([BIN / "gpuemu", *words], cwd=home.project, env=home.env, text=True,
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    while not began.exists():
        assert process.poll() is None, process.communicate()
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130 and "[FAIL]" not in out + err, (out, err)
    assert home.run("failures").stdout == ""


def test_a_second_ci_run_lists_the_same_tests_with_the_same_figures(new_home):
    slightly = "0f40000010"  # Passes within the tolerance, with a difference.
    files = project(cases=6, second=slightly, reference="def reference(x):\n    return 2.0 * x\n")
    files["gpuemu.toml"] = files["gpuemu.toml"].replace("[runtime]", "tolerances = { float32 = { atol = 1.0, rtol = 1.0 } }\n[runtime]")
    home = new_home(files)
    first, second = [json.loads(home.run("ci", "--format", "json", "--report", f"junit={name}.xml", "--report", f"html={name}.html").stdout)
                     for name in ("one", "two")]
    assert all(op["cached"] for op in second["ops"])
    assert len(second["validation_results"]) == len(first["validation_results"]) == 12
    assert len({one["seed"] for one in first["validation_results"]}) == 12, "a seed names the case of one op"
    tests = [ElementTree.parse(home.project / f"{name}.xml").getroot().get("tests") for name in ("one", "two")]
    assert tests[0] == tests[1]
    relative = [[one["max_rel_diff"] for one in run["validation_results"]] for run in (first, second)]
    assert relative[0] == relative[1] and max(relative[1]) > 0


# --- references that answer nothing

BROKEN_REFERENCES = {
    "a typing error": "def reference(x):\n    return 2.0 * xx\n",
    "no such module": "import no_such_module\n\n\ndef reference(x):\n    return x\n",
    "wrong arguments": "def reference(weight):\n    return weight\n",
    "a wrong shape": "def reference(x):\n    return x[None]\n",
    "a wrong shape, but for one element": "def reference(x):\n    return 2.0 * x[:1]\n",
}


@pytest.mark.parametrize("words, name", [*((["test"], name) for name in BROKEN_REFERENCES), (["fuzz", "-i", "40"], "a typing error"),
                                         (["fuzz", "-i", "40", "--unguided"], "wrong arguments"), (["ci"], "a wrong shape")])
def test_a_reference_that_answers_no_case_is_one_error_and_no_failure(new_home, words, name):
    home = new_home(project(cases=40, reference=BROKEN_REFERENCES[name]))
    run = home.run(*words)
    assert run.returncode == 3, run.stdout + run.stderr
    said = run.stdout + run.stderr
    assert len(set(re.findall(r"\[ERROR\] first\b.*", said))) == 1 and "[FAIL]" not in said, said
    assert home.run("failures").stdout == ""


def test_a_reference_that_fails_in_some_cases_is_a_finding_of_those(new_home):
    home = new_home(project(cases=40, reference="def reference(x):\n    assert x.size % 2, 'even'\n    return 2.0 * x\n"))
    run = home.run("test", "first")
    assert run.returncode == 1 and "[ReferenceError]" in run.stdout, run.stdout
    assert home.run("failures").stdout.count("ReferenceError") > 1
    # Memory that nobody touches: only the limit that references have by default refuses it.
    most = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") * 9 // 10
    (home.project / "ref_twice.py").write_text(f"import numpy as np\n\n\ndef reference(x):\n    np.empty({most}, np.uint8)\n    return 2.0 * x\n")
    run = home.run("test", "first")
    assert run.returncode == 3 and "reference_memory_limit_mb" in run.stdout, run.stdout


def test_failures_say_which_pass_now(new_home):
    home = new_home(project(cases=2, second=THREE, reference="def reference(x):\n    return 2.0 * x\n"))
    assert home.run("test", "second").returncode == 1
    seed = home.run("failures").stdout.split()[0]
    assert "passes now" not in home.run("failures").stdout
    (home.project / "second.ptx").write_text(SCALE_PTX.replace("FACTOR", TWO))
    assert "second: passes" in home.run("reproduce", seed).stdout
    lines = {line.split()[0]: line for line in home.run("failures").stdout.splitlines()}
    assert lines.pop(seed).endswith("(passes now)") and not any("passes now" in line for line in lines.values())
    listed = json.loads(home.run("failures", "--format", "json").stdout)["results"]
    assert [one["seed"] for one in listed if one.get("passes_now")] == [int(seed)]
    assert home.run("test", "second").returncode == 0
    marked = home.run("failures").stdout.splitlines()
    assert len(marked) == 2 and all(line.endswith("(passes now)") for line in marked), marked


def test_one_failure_that_is_submitted_twice_is_listed_once(new_home):
    from wire_client import tensor

    home = new_home({"gpuemu.toml": '[[ops]]\nname = "scale"\nreference = "ref.py"\ninput_names = ["x"]\n', "ref.py": process_script("x * 2")})
    home.start()

    def submit(values, output=(9.0, 9.0)):
        return home.ask("SubmitOutput", op_name="scale", inputs={"x": tensor(values)}, output=tensor(list(output)), seed=5)

    for values in ([1.0, 2.0], [1.0, 2.0], [3.0, 4.0]):
        submit(values)
    assert len(home.ask("ListFailures", limit=10)["results"]) == 2, "one for each of the two inputs"
    home.stop()
    home.start()
    submit([1.0, 2.0])
    submit([1.0, 2.0], (2.0, 5.0))
    assert len(home.ask("ListFailures", limit=10)["results"]) == 2, "of what an earlier daemon kept, too"
    submit([1.0, 2.0], (2.0, 4.0))
    [line] = [line for line in home.run("failures").stdout.splitlines() if "expected 4, got 5" in line]
    assert line.endswith("(passes now)"), line
    others = [line for line in home.run("failures").stdout.splitlines() if "expected 4, got 5" not in line]
    assert others and not any("passes now" in line for line in others), "a submission of other inputs says nothing of these"


def test_reports_hold_no_inputs_unless_they_are_asked_for(new_home):
    home = new_home(project(cases=4, second=THREE, reference="def reference(x):\n    return 2.0 * x\n"))
    without = home.run("ci", "--format", "json").stdout
    assert '"input_snapshot": "' not in without and json.loads(without)["failed"] > 0
    assert '"input_snapshot": "' in home.run("ci", "--snapshots", "--format", "json").stdout
    assert '"input_snapshot": "' in home.run("ci", "--format", "json", "--snapshots", "--no-cache").stdout


def test_what_could_not_be_written_was_not_written(new_home):
    home = new_home(project(cases=2, reference="def reference(x):\n    return 2.0 * x\n"))
    for words in (["ci", "--format", "json", "-o"], ["report", "--format", "html", "--output"], ["coverage", "--output"], ["lint", "--output"],
                  ["baseline", "save", "main", "--file"]):
        run = home.run(*words, "/dev/full")
        assert run.returncode == 3 and "cannot write /dev/full" in run.stderr and "wrote" not in run.stdout + run.stderr, (words, run.stderr)
    run = home.run("ci", "--report", "junit=/dev/full")
    assert run.returncode == 3 and "cannot write /dev/full" in run.stderr and "wrote" not in run.stdout + run.stderr, run.stderr
    for words in (["test"], ["coverage"], ["report", "--format", "json"]):
        with open("/dev/full", "w", encoding="utf-8") as full:
            run = subprocess.run([BIN / "gpuemu", *words], cwd=home.project, env=home.env, stdin=subprocess.DEVNULL, stdout=full, stderr=subprocess.PIPE, text=True)
        assert run.returncode == 3 and "cannot write the output" in run.stderr, (words, run.stderr)


@pytest.mark.parametrize("words, code", [(("config", "schema"), 0), (("test", "--format", "json", "-v"), 1)])
def test_a_reader_that_leaves_early_changes_no_verdict(new_home, words, code):
    home = new_home(project(cases=200, second=THREE, reference="def reference(x):\n    return 2.0 * x\n"))
    running = subprocess.Popen([BIN / "gpuemu", *words], cwd=home.project, env=home.env, stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert running.stdout.read(1) == "{"
    running.stdout.close()  # Before all of it is in the pipe, which holds 64 KiB.
    said = running.stderr.read()
    assert running.wait(timeout=60) == code and "cannot write" not in said, said


def test_minimize_ends_with_a_case_that_failed(new_home):
    # Fails whenever it is asked, but for the last run of each size: as a race would.
    flaky = ("import json, os, pathlib\n\nplace = pathlib.Path(__file__).with_name('runs.json')\n\n\ndef reference(x):\n"
             "    runs = json.loads(place.read_text()) if place.exists() else {}\n    key = f'{x.size}'\n"
             "    runs[key] = runs.get(key, 0) + 1\n    place.write_text(json.dumps(runs))\n"
             "    return 2.0 * x + (1.0 if runs[key] < 3 else 0.0)\n")
    home = new_home(project(cases=1, reference=flaky))
    assert home.run("test", "first").returncode == 1
    seed = home.run("failures").stdout.split()[0]
    found = json.loads(home.run("minimize", seed, "--format", "json").stdout)
    assert found.get("type") == "Error" or not found["result"]["passed"], found


def test_the_pytest_plugin_fails_what_could_not_run_and_runs_ops_with_scripts(new_home):
    files = scripts()
    files["gpuemu.toml"] += kernel_op("broken", "broken.ptx")
    home = new_home({**files, "broken.ptx": "no PTX at all\n", "ref_twice.py": "def reference(x):\n    return x\n", "pytest.ini": "[pytest]\n"})
    done = subprocess.run([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "gpuemu.pytest_plugin", "--gpuemu-budget=2", "-rA"],
                          cwd=home.project, capture_output=True, text=True, timeout=300,
                          env={**home.env, "PYTHONPATH": str(ROOT / "python"), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"})
    outcome = dict(reversed(line.split(" gpuemu.toml::")) for line in (one.split(" - ")[0] for one in done.stdout.splitlines()) if " gpuemu.toml::" in line)
    assert outcome == {"good": "PASSED", "planted": "FAILED", "broken[float32]": "FAILED"}, done.stdout


def test_what_a_shared_file_says_is_shown_short_and_without_controls(new_home):
    home = new_home({"gpuemu.toml": '[validation]\n"a\\u001b[31mred" = 1\n[runtime]\nbackend = "' + "x" * 1_000_000 + '"\n'})
    checked = home.run("config", "check")
    assert checked.returncode == 2 and len(checked.stderr) < 10_000 and "expected" in checked.stderr, checked.stderr[:2000]
    for words in (("config", "check"), ("--verbose", "config", "show"), ("--verbose", "test")):
        run = home.run(*words)
        assert "\x1b" not in run.stdout + run.stderr
    (home.project / "gpuemu.toml").write_text(kernel_op("k" * 1_000_000, "k.ptx"))
    checked = home.run("config", "check")
    assert checked.returncode == 2 and "a name of 1000000 bytes" in checked.stderr and len(checked.stderr) < 10_000, checked.stderr[:2000]


def test_a_folder_called_gpuemu_toml_is_named(new_home):
    home = new_home({"gpuemu.toml/inside": ""})
    run = home.run("test")
    assert run.returncode == 2 and "is a folder, expected a file" in run.stderr, run.stderr
