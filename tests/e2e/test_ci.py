"""`gpuemu ci` and the request RunCi with the real programs."""
import json
import os
import re
import time

import pytest

from projects import SCALE_PTX, THREE, TWO, client_project, kernel_op

LIMITED = "\n[kernels.artifact_checks]\nmax_instructions = {}\nmax_local_memory = 1000\n"


def project(wrong=False, limit=2000, cases=6):
    """Two ops in PTX; `wrong` makes the second one a fault."""
    config = f"[validation]\nseed = 7\ncases = {cases}\n[runtime]\nbackend = \"emulator\"\nworkers = 2\n"
    return {
        "gpuemu.toml": config + kernel_op("twice", "twice.ptx") + LIMITED.format(limit) +
        kernel_op("other", "other.ptx"),
        "twice.ptx": SCALE_PTX.replace("FACTOR", TWO),
        "other.ptx": SCALE_PTX.replace("FACTOR", THREE if wrong else TWO),
        "ref_twice.py": "def reference(x):\n    return 2.0 * x\n",
    }


def summary_of(run):
    assert run.stdout, run.stderr
    return json.loads(run.stdout)


def rewrite(home, name, text):
    (home.project / name).write_text(text)


def test_an_unchanged_project_is_done_at_once_and_any_change_runs_again(new_home):
    home = new_home(project())
    first = home.run("ci", "--format", "json")
    assert first.returncode == 0, first.stderr
    assert not any(op.get("cached") for op in summary_of(first)["ops"])
    started = time.monotonic()
    second = home.run("ci", "--format", "json")
    took = time.monotonic() - started
    again = summary_of(second)
    assert second.returncode == 0 and all(op["cached"] and op["cases"] == 6 for op in again["ops"]), again
    assert again["kernels_cached"] == 2
    # Asking the daemon to start and to end is all that is left to do.
    started = time.monotonic()
    home.run("daemon", "start", "--background")
    home.run("daemon", "stop")
    assert took < 2 * (time.monotonic() - started) + 1.5
    rewrite(home, "other.ptx", SCALE_PTX.replace("FACTOR", THREE))
    third = home.run("ci", "--format", "json")
    assert third.returncode == 1, third.stdout
    assert [(op["op_name"], op.get("cached", False), op["failed"] > 0) for op in summary_of(third)["ops"]] == [
        ("twice", True, False), ("other", False, True)]
    forced = summary_of(home.run("ci", "--no-cache", "--format", "json"))
    assert not any(op.get("cached") for op in forced["ops"])


READING = """import os, sys
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import outside
TABLE = float(open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "table.txt")).read())
def reference(x):
    return outside.ONE * TABLE * x
"""


@pytest.mark.parametrize("daemon", [False, True], ids=["alone", "warm"])
@pytest.mark.parametrize("changed", ["refs/table.txt", "lib/outside.py"])
def test_whatever_the_reference_reads_runs_it_again_when_it_changes(new_home, changed, daemon):
    files = project()
    files["gpuemu.toml"] = files["gpuemu.toml"].replace("ref_twice.py", "refs/ref_twice.py")
    home = new_home({**files, "refs/ref_twice.py": READING, "refs/table.txt": "2.0", "lib/outside.py": "ONE = 1\n"})
    if daemon:
        home.run("daemon", "start", "--background")
    time.sleep(0.02)  # What changes while a run reads it is not relied on.
    assert home.run("ci").returncode == 0
    assert all(op["cached"] for op in summary_of(home.run("ci", "--format", "json"))["ops"])
    rewrite(home, changed, "3.0" if changed.endswith("txt") else "ONE = 2\n")
    again = home.run("ci", "--format", "json")
    assert again.returncode == 1 and not any(op.get("cached") for op in summary_of(again)["ops"]), again.stdout


def test_a_reference_that_starts_programs_is_always_run(new_home):
    files = project()
    files["ref_twice.py"] = "import subprocess\ndef reference(x):\n    subprocess.run(['true'])\n    return 2.0 * x\n"
    home = new_home(files)
    for _ in range(2):
        run = home.run("ci", "--format", "json")
        assert run.returncode == 0 and not any(op.get("cached") for op in summary_of(run)["ops"]), run.stdout


def test_the_examples_unchanged_cost_a_fraction_of_their_first_run(gpuemu):
    """The eight that are right: what is unchanged is neither compiled nor run again."""
    config = gpuemu.project / "gpuemu.toml"
    faulty = ("scale_missing_tail_mask", "reduce_missing_sync", "rowmax_wrong_identity")
    tables = re.split(r"(?m)^(?=\[\[)", config.read_text())
    config.write_text("".join(one for one in tables if not any(f'"{name}"' in one for name in faulty)))
    took = []
    for _ in range(2):
        started = time.monotonic()
        run = gpuemu.run("ci", "--format", "json")
        took.append(time.monotonic() - started)
        assert run.returncode == 0, run.stdout + run.stderr
    summary = summary_of(run)
    assert len(summary["ops"]) >= 8 and all(op["cached"] for op in summary["ops"])
    assert summary["kernels_cached"] == len(summary["lint_results"]) >= 8
    print(f"first {took[0]:.2f} s, unchanged {took[1]:.2f} s")
    assert took[1] < took[0] / 3, took


def test_stored_failures_run_again_until_they_pass(new_home):
    home = new_home(project(wrong=True))
    found = home.run("fuzz", "--op", "other", "-i", "3", "--seed", "99")
    assert found.returncode == 1
    home.run("daemon", "stop")
    broken = home.run("ci", "--quick", "--format", "json")
    op = summary_of(broken)["ops"][1]
    assert broken.returncode == 1 and op["replayed"] >= 1 and op["failed"] >= op["replayed"], op
    assert "[FAIL]" not in broken.stdout
    rewrite(home, "other.ptx", SCALE_PTX.replace("FACTOR", TWO))
    fixed = home.run("ci", "--quick", "--format", "json")
    op = summary_of(fixed)["ops"][1]
    assert fixed.returncode == 0 and op["replayed"] >= 1 and op["failed"] == 0, op


def test_a_minimized_failure_runs_again_on_the_inputs_that_were_kept_with_it(new_home):
    only_nan = "import numpy as np\ndef reference(x):\n    return np.where(np.isnan(x), 7.0, 2.0 * x)\n"
    home = new_home({**project(), "ref_twice.py": only_nan})
    assert home.run("test", "other", "--strategy", "one_nan", "--seed", "99").returncode == 1
    seed = next(line.split()[0] for line in home.run("failures").stdout.splitlines() if "shape: [1]" not in line)
    assert home.run("minimize", seed, "--strategy", "binary-search-values").returncode == 0
    small = home.run("failures", "--limit", "1").stdout.split()[0]
    assert "values stored" in home.run("reproduce", small).stdout
    stored = len(home.run("failures").stdout.splitlines())
    run = summary_of(home.run("ci", "--format", "json"))
    op = run["ops"][1]
    assert (op["replayed"], op["cases"]) == (stored, 6 + stored) and not any("stored" in note for note in run.get("notes", [])), run
    # One that gpuemu.toml has no place for any more is told with the reason.
    renamed = re.sub(r'(?<=["( :])n(?=[", )]| =)', "m", (home.project / "gpuemu.toml").read_text())
    rewrite(home, "gpuemu.toml", renamed)
    notes = summary_of(home.run("ci", "--format", "json"))["notes"]
    assert any(re.match(r"other: \d+ stored cases? cannot be run again: .*\bn\b", note) for note in notes), notes


def test_a_stored_case_that_is_generated_again_counts_once(new_home):
    home = new_home(project(wrong=True))
    assert home.run("test", "other").returncode == 1  # The same base seed and cases as those of ci.
    stored = home.run("failures").stdout.splitlines()
    assert home.run("test", "other").returncode == 1
    assert len(home.run("failures").stdout.splitlines()) == len(stored) > 3
    op = summary_of(home.run("ci", "--format", "json"))["ops"][1]
    assert (op["cases"], op["failed"], op.get("replayed", 0)) == (6, len(stored), 0), op
    # Within a time limit the stored ones come first; that they are generated as well changes no count.
    found = summary_of(home.run("ci", "--thorough", "--format", "json"))
    op = found["ops"][1]
    assert (op["cases"], op["replayed"]) == (256, len(stored)) and len(stored) < op["failed"] == 256 - op["passed"], op
    seeds = [one["seed"] for one in found["validation_results"] if one["op_name"] == "other"]
    assert len(seeds) == len(set(seeds)) == 256


def test_what_passing_proves_stands_in_every_report(new_home):
    home = new_home(project())
    words = [word for name in ("json", "html", "pr-comment") for word in ("--report", f"{name}=out.{name}")]
    first = home.run("ci", *words)
    assert first.returncode == 0, first.stderr
    told = re.findall(r"^    evidence: (\d+) of (\d+) passing cases would have caught", first.stdout, re.M)
    assert len(told) == 2 and all(0 < int(telling) <= int(judged) <= 6 for telling, judged in told), first.stdout
    ops = json.loads((home.project / "out.json").read_text())["ops"]
    assert [(str(op["proof"]["telling"]), str(op["proof"]["judged"])) for op in ops] == told
    text = f"{told[0][0]} of {told[0][1]} passing cases would have caught"
    assert text in (home.project / "out.html").read_text() and text in (home.project / "out.pr-comment").read_text()
    # Kept with the verdict, and the same as `gpuemu test` says of these cases.
    assert re.findall(r"evidence: (\d+) of (\d+)", home.run("ci").stdout) == told
    assert re.findall(r"evidence: (\d+) of (\d+)", home.run("test").stdout) == told


def test_the_page_shows_how_numbers_changed_over_time(new_home):
    home = new_home(project())
    assert home.run("ci").returncode == 0
    assert home.run("baseline", "save", "first").returncode == 0
    summary = summary_of(home.run("ci", "--format", "json", "--report", "html=same.html"))
    assert {one["kernel_name"] for one in summary["trends"]} == {"twice", "other"}
    assert "have never changed" in (home.project / "same.html").read_text()
    for extra in (60, 20):
        more = "".join(f"\tmul.f32 %f2, %f2, 0f3F8{i:05X};\n" for i in range(1, extra))
        rewrite(home, "twice.ptx", SCALE_PTX.replace("FACTOR", TWO).replace("\tst.global", more + "\tst.global"))
        run = home.run("ci", "--format", "json", "--report", "html=out.html", "--no-cache")
    [trend] = [one for one in summary_of(run)["trends"] if one["kernel_name"] == "twice"]
    assert "first" in [point.get("label", "") for point in trend["points"]]
    counts = [point["instructions"] for point in trend["points"]]
    assert len(set(counts)) == 3 and counts[-1] < max(counts), counts
    page = (home.project / "out.html").read_text()
    assert "<h2>Over time</h2>" in page and page.count("<polyline") >= 1 and "this run" in page


def test_shards_are_deterministic_and_together_complete(new_home):
    home = new_home(project())
    whole = summary_of(home.run("ci", "--no-cache", "--format", "json"))
    seeds, kernels = [], []
    for part in (1, 2, 3):
        shard = summary_of(home.run("ci", "--no-cache", "--shard", f"{part}/3", "--format", "json"))
        assert (shard["shard"], shard["shards"]) == (part, 3)
        seeds += [(one["op_name"], one["seed"]) for one in shard["validation_results"]]
        kernels += [one["kernel_name"] for one in shard["lint_results"]]
    assert sorted(seeds) == sorted((one["op_name"], one["seed"]) for one in whole["validation_results"])
    assert sorted(kernels) == sorted(one["kernel_name"] for one in whole["lint_results"])


def test_each_class_of_regression_fails_the_run_with_exactly_that(new_home):
    home = new_home(project())
    saved = home.run("ci", "--no-cache")
    assert saved.returncode == 0, saved.stdout + saved.stderr
    assert home.run("baseline", "save", "good", "--file", "good.json").returncode == 0
    same = home.run("ci", "--no-cache", "--file", "good.json")
    assert same.returncode == 0 and "no regression" in same.stdout, same.stdout + same.stderr
    # A limit.
    rewrite(home, "gpuemu.toml", project(limit=3)["gpuemu.toml"])
    limit = home.run("ci")
    assert limit.returncode == 1 and "ExcessiveInstructions" in limit.stdout
    assert "[FAIL] other" not in limit.stdout and "(seed:" not in limit.stdout
    # More of a machine than in the baseline; the limit is off again.
    rewrite(home, "gpuemu.toml", project()["gpuemu.toml"])
    rewrite(home, "twice.ptx", SCALE_PTX.replace("FACTOR", TWO).replace(".reg .f32 %f<3>;", ".reg .f32 %f<3>;\n\t.local .b8 buf[64];"))
    grown = home.run("ci", "--file", "good.json")
    assert grown.returncode == 1 and "[regression] twice" in grown.stdout, grown.stdout
    rewrite(home, "gpuemu.toml", project()["gpuemu.toml"] + "[policies]\nfail_on_regression = false\n")
    assert home.run("ci", "--file", "good.json").returncode == 0
    # A wrong result.
    for name, text in project(wrong=True).items():
        rewrite(home, name, text)
    wrong = home.run("ci")
    assert wrong.returncode == 1 and re.search(r"^\[FAIL\] other \(seed: \d+\): .*ToleranceExceeded", wrong.stdout, re.M)
    assert "[FAIL] other" in wrong.stderr
    # A reference that is broken, and a kernel that cannot be read: neither is success nor finding.
    rewrite(home, "twice.ptx", "no PTX at all")
    broken = home.run("ci")
    assert broken.returncode == 3 and "[ERROR] twice" in broken.stdout


def test_a_budget_is_spent_and_kept_and_grows_a_corpus(new_home):
    home = new_home(project(cases=2))
    started = time.monotonic()
    run = home.run("ci", "--budget", "3s", "--format", "json")
    took = time.monotonic() - started
    found = summary_of(run)
    assert run.returncode == 0, run.stderr
    assert 3 <= took < 30
    assert all(op["cases"] > 2 for op in found["ops"]), found["ops"]
    again = summary_of(home.run("ci", "--budget", "2s", "--format", "json"))
    assert sum(op.get("replayed", 0) for op in again["ops"]) > 0


def test_no_daemon_is_left_behind_and_a_running_one_stays(new_home):
    home = new_home(project())
    assert home.run("ci").returncode == 0
    assert home.run("status").stdout.startswith("Daemon: stopped")
    home.start()
    assert home.run("ci").returncode == 0
    assert home.run("status").stdout.startswith("Daemon: running")


@pytest.mark.parametrize("arguments, said", [
    (("--shard", "3/2"), "--shard '3/2'"),
    (("--shard", "0/2"), "--shard '0/2'"),
    (("--budget", "soon"), "--budget 'soon'"),
    (("--budget", "9999h"), "--budget"),
    (("--quick", "--thorough"), "--quick and --thorough"),
    (("--format", "junitt"), "junitt"),
    (("--baseline", "none"), "no baseline 'none'"),
    (("--file", "none.json"), "none.json"),
    (("--report", "json"), "FORMAT=FILE"),
    (("--report", "wrong=file"), "wrong"),
    (("--parallel", "1025"), "'1025' is not a whole number from 0 to 1024"),
])
def test_wrong_use_is_told_before_anything_runs(new_home, arguments, said):
    run = new_home(project()).run("ci", *arguments)
    assert run.returncode == 2 and said in run.stderr and not run.stdout, run.stderr


def test_an_output_that_cannot_be_written_is_told_at_once(new_home):
    home = new_home(project())
    for place in ("nowhere/x.json", "."):
        run = home.run("ci", "--format", "json", "--output", place)
        assert run.returncode == 3 and "cannot write" in run.stderr, run.stderr
        run = home.run("ci", "--report", f"json={place}")
        assert run.returncode == 3 and "cannot write" in run.stderr, run.stderr


def test_nothing_to_check_is_no_success(new_home):
    empty = new_home({"gpuemu.toml": "[project]\nname = \"empty\"\n"}).run("ci")
    assert empty.returncode == 2 and "nothing to check" in empty.stderr
    client = new_home({"gpuemu.toml": "[[ops]]\nname = \"a\"\nreference = \"ref.py\"\n", "ref.py": ""}).run("ci")
    assert client.returncode == 3 and "nothing was checked" in client.stderr
    assert "[SKIP] a" in client.stdout


def test_the_request_runs_ten_or_fifty_cases_and_its_summary_is_kept(new_home):
    home = new_home(project())
    home.start()
    with home.client() as client:
        assert client.ask("GetCiSummary")["code"] == "NotFound"
        quick = client.ask("RunCi", quick=True, baseline=None, parallel_jobs=0)
        assert quick["type"] == "CiRunComplete" and quick["total_tests"] == 22 and quick["failed"] == 0
        assert [op["cases"] for op in quick["ops"]] == [10, 10]
        assert quick["artifact_diffs"] is None and len(quick["lint_results"]) == 2
        assert client.ask("GetCiSummary") == quick
        unknown = client.ask("RunCi", quick=True, baseline="none", parallel_jobs=0)
        assert unknown["type"] == "Error" and unknown["code"] == "BaselineNotFound"
        many = client.ask("RunCi", quick=True, parallel_jobs=1025)
        assert many["code"] == "InvalidRequest" and "the limit is 1024" in many["message"]
        bad = client.ask("RunCi", quick=True, parallel_jobs=0, shard=3, shards=2)
        assert bad["code"] == "InvalidRequest" and "shard" in bad["message"]


def test_op_scripts_are_part_of_it(new_home):
    home = new_home(client_project())
    run = home.run("ci", "--quick", "--format", "json")
    ops = {op["op_name"]: op for op in summary_of(run)["ops"]}
    assert run.returncode == 1
    assert ops["good"]["cases"] == 10 and ops["good"]["failed"] == 0
    assert ops["off"]["failed"] > 0 and ops["tripled"]["failed"] > 0 and ops["twice"]["failed"] == 0
    assert "client" in ops["scale"]["skipped_reason"]
