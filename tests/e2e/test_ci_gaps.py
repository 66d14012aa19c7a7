"""What `gpuemu ci` must not be silent about: kernels, variants and ops that nothing judges, and what a baseline misses."""
import json
import re
import shlex

import pytest

from projects import SCALE_PTX, THREE, TWO, kernel_op
from test_reports import SCHEMAS

HEAD = "[validation]\nseed = 7\ncases = 6\n[runtime]\nbackend = \"emulator\"\nworkers = 2\n"
DATA = """inputs = [{ name = "x", shape = ["n"], dtype = "float32" }]
outputs = [{ name = "y", shape = ["n"], dtype = "float32" }]
dims = { n = [1, 300] }
"""
LAUNCHES = 'launches = [{ entry = "scale", grid = ["cdiv(n, 128)"], block = ["128"], args = ["x", "y", "i32:n"] }]\n'
FILES = {"ref_twice.py": "def reference(x):\n    return 2.0 * x\n", "twice.ptx": SCALE_PTX.replace("FACTOR", TWO),
         "wrong.ptx": SCALE_PTX.replace("FACTOR", THREE)}


def kernel(name, source, *more):
    return f'\n[[kernels]]\nname = "{name}"\nsource = "{source}"\n' + "".join(more)


def project(*tables):
    return {**FILES, "gpuemu.toml": HEAD + "".join(tables)}


def summary_of(run):
    assert run.stdout, run.stderr
    return json.loads(run.stdout)


def variants(policy="", supports=""):
    """An op with a right variant that takes every case and a wrong one behind it."""
    return project(policy, '\n[[ops]]\nname = "op"\nkernel = ["fast", "slow"]\nreference = "ref_twice.py"\n' + DATA,
                   kernel("fast", "twice.ptx", "priority = 1\n", LAUNCHES), kernel("slow", "wrong.ptx", supports, LAUNCHES))


@pytest.mark.parametrize("table, key", [
    (kernel("forgotten", "wrong.ptx", 'reference = "ref_twice.py"\n', DATA), "launches"),
    (kernel("forgotten", "wrong.ptx", 'reference = "ref_twice.py"\n', LAUNCHES), "outputs"),
])
def test_a_kernel_that_was_meant_to_be_tested_and_is_not_breaks_the_gate(new_home, table, key):
    home = new_home(project(kernel_op("twice", "twice.ptx"), table))
    run = home.run("ci")
    assert run.returncode == 3, run.stdout
    line = f"[ERROR] forgotten float32: kernel 'forgotten' is in no test: no op names it, and it has no {key}; write {key} = "
    assert line in run.stdout and line in run.stderr
    checked = home.run("config", "check")
    assert f"kernels[1].{key}: kernel 'forgotten' is in no test" in checked.stdout + checked.stderr


def test_a_kernel_that_is_only_measured_is_named_in_every_report(new_home):
    home = new_home(project(kernel_op("twice", "twice.ptx"), kernel("bare", "wrong.ptx"), kernel("launched", "wrong.ptx", LAUNCHES)))
    files = {"junit": "out.xml", "sarif": "out.sarif", "html": "out.html", "pr-comment": "out.md", "json": "out.json"}
    run = home.run("ci", *(f"--report={name}={file}" for name, file in files.items()))
    assert run.returncode == 0, run.stdout + run.stderr
    texts = {"text": run.stdout, **{name: (home.project / file).read_text() for name, file in files.items()}}
    for name, text in texts.items():
        told = text.replace("\\", "").replace("&#58;", ":")
        assert re.search("kernel bare.* measured, not run.* it has no launches, and no op names it", told), (name, text)
        assert re.search("kernel launched.* measured, not run.* it has no outputs, and no op names it", told), (name, text)
    etree = pytest.importorskip("lxml.etree")
    etree.XMLSchema(etree.parse(str(SCHEMAS / "junit.xsd"))).assertValid(etree.fromstring(texts["junit"].encode()))


def test_an_op_whose_values_nothing_compares_is_named(new_home):
    home = new_home(project(kernel("blind", "wrong.ptx", DATA, LAUNCHES, "invariants = { shape_preserved = true }\n"),
                            kernel("judged", "wrong.ptx", DATA, LAUNCHES, "invariants = { odd = true }\n")))
    for _ in range(2):  # What was kept says it too.
        run = home.run("ci")
        assert "note: op blind: nothing compares its values: it has no reference" in run.stdout, run.stdout
        assert "note: op judged: no value is compared with an expected one: it has no reference, and is judged by odd" in run.stdout


def test_a_variant_that_no_case_selects_has_cases_of_its_own(new_home):
    home = new_home(variants())
    run = home.run("ci", "--format", "json")
    summary = summary_of(run)
    assert run.returncode == 1, run.stderr
    assert [(op["kernel"], op["cases"], op["passed"]) for op in summary["ops"]] == [("fast", 12, 6)]
    failed = [one for one in summary["validation_results"] if not one["passed"]]
    assert {one["repro_info"]["kernel"] for one in failed} == {"slow"}
    assert len({one["seed"] for one in summary["validation_results"]}) == 12, "cases of their own have seeds of their own"
    again = home.run("reproduce", str(failed[0]["seed"]), "--op", "op")
    assert again.returncode == 0 and "kernel slow" in again.stdout, again.stdout + again.stderr
    # Stored failures that are made again count once.
    assert [(op["cases"], op["failed"]) for op in summary_of(home.run("ci", "--format", "json"))["ops"]] == [(12, 6)]
    (home.project / "wrong.ptx").write_text(FILES["twice.ptx"])
    right = home.run("ci", "--format", "json")
    assert right.returncode == 0, right.stdout
    assert [(op["cases"], op["passed"]) for op in summary_of(right)["ops"]] == [(12, 12)]


def test_the_parts_of_a_run_share_the_cases_of_a_variant(new_home):
    home = new_home(variants())
    seeds = []
    for part in ("1/2", "2/2"):
        seeds += [one["seed"] for one in summary_of(home.run("ci", "--shard", part, "--no-cache", "--format", "json"))["validation_results"]]
    assert len(set(seeds)) == 12


def test_a_variant_that_shall_not_run_is_named(new_home):
    home = new_home(variants(policy='kernel_policy = { op = "fast" }\n'))
    for is_again in (False, True):  # What was kept says it too.
        run = home.run("ci")
        assert run.returncode == 0, run.stdout + run.stderr
        assert "note: op float32: variant slow ran in none of 6 cases: runtime.kernel_policy prefers another one" in run.stdout
        assert ("unchanged since they passed" in run.stdout) == is_again, run.stdout
    summary = summary_of(home.run("ci", "--budget", "3s", "--format", "json"))
    idle = [note for note in summary["notes"] if "variant slow" in note]
    assert summary["ops"][0]["cases"] > 6
    assert len(idle) == 1 and f"ran in none of {summary['ops'][0]['cases']} cases" in idle[0], "the cases that a budget adds count"


def test_a_variant_that_no_case_reaches_is_an_error_of_the_gate_and_a_warning_of_a_test(new_home):
    home = new_home(variants(supports='supports = "n > 1000"\n'))
    said = "`supports` takes none of 1000 generated cases"
    for _ in range(2):  # What was kept says it too.
        run = home.run("ci")
        assert run.returncode == 3, run.stdout + run.stderr
        assert f"[ERROR] slow float32: variant of op op: {said}" in run.stdout and "[PASS] op float32" in run.stdout
    test = home.run("test", "--cases", "3")
    assert test.returncode == 0 and f"warning: op: variant slow is not tested: {said}" in test.stderr, test.stderr
    toml = home.project / "gpuemu.toml"
    toml.write_text(toml.read_text().replace('supports = "n > 1000"', 'supports = "n == 7"'))
    run = home.run("ci")  # Takes few, and those are found.
    assert run.returncode != 3 and "none of 1000" not in run.stdout + home.run("test").stderr, run.stdout


def test_what_a_baseline_has_and_the_project_has_not_is_a_regression(new_home):
    both = project(kernel_op("twice", "twice.ptx"), kernel_op("other", "twice.ptx"))
    home = new_home(both)
    assert home.run("ci").returncode == 0
    assert home.run("baseline", "save", "main").returncode == 0
    toml = home.project / "gpuemu.toml"
    toml.write_text(both["gpuemu.toml"].replace('"other"', '"renamed"'))
    run = home.run("ci", "--baseline", "main", "--report", "junit=out.xml", "--report", "sarif=out.sarif", "--report", "html=out.html",
                   "--report", "pr-comment=out.md")
    assert run.returncode == 1, run.stdout
    assert "[missing] other: in the baseline" in run.stdout
    assert "1 of baseline main is not in this run: other" in run.stderr and "gpuemu baseline save main" in run.stderr
    for name in ("out.xml", "out.sarif", "out.html", "out.md"):
        assert "in the baseline, not in this run" in (home.project / name).read_text(), name
    # What another part of the work or another profile measures is not missing; what is gone, one part tells.
    assert sorted(home.run("ci", "--baseline", "main", "--shard", f"{part}/2").returncode for part in (1, 2)) == [0, 1]
    toml.write_text(toml.read_text() + "\n[policies]\nfail_on_regression = false\n")
    assert home.run("ci", "--baseline", "main").returncode == 0
    toml.write_text(both["gpuemu.toml"].replace('"other"', '"renamed"'))
    assert home.run("baseline", "save", "main").returncode == 0
    assert home.run("ci", "--baseline", "main").returncode == 0, "a baseline that was saved again knows the new name"


def test_an_op_that_was_taken_from_its_kernel_is_missing_too(new_home):
    both = project(kernel_op("twice", "twice.ptx"),
                   kernel_op("scaled", "twice.ptx").replace('[[kernels]]\nname = "scaled"', '[[kernels]]\nname = "k"').replace(
                       'kernel = "scaled"', 'kernel = "k"'))
    home = new_home(both)
    assert home.run("ci").returncode == 0
    assert home.run("baseline", "save", "main").returncode == 0
    (home.project / "gpuemu.toml").write_text(HEAD + kernel_op("twice", "twice.ptx") + kernel("k", "twice.ptx", LAUNCHES))
    run = home.run("ci", "--baseline", "main")
    assert run.returncode == 1 and "[missing] scaled" in run.stdout, run.stdout


def test_dtypes_that_a_profile_leaves_out_are_not_missing(new_home):
    files = project(kernel_op("twice", "twice.ptx", extra='dtypes = ["float32", "float16"]\n'))
    home = new_home(files)
    home.run("ci")
    assert home.run("baseline", "save", "main").returncode == 0
    run = home.run("ci", "--quick", "--baseline", "main")
    assert "[missing]" not in run.stdout and "not in this run" not in run.stderr


def test_a_baseline_of_another_project_is_refused(new_home):
    home = new_home(project(kernel_op("other", "twice.ptx")))
    assert home.run("ci").returncode == 0
    assert home.run("baseline", "save", "main", "--file", "other.json").returncode == 0
    (home.project / "gpuemu.toml").write_text(HEAD + kernel_op("twice", "twice.ptx"))
    for choice in (("--baseline", "main"), ("--file", "other.json")):
        run = home.run("ci", *choice)
        assert run.returncode == 3, run.stdout
        assert "baseline main has no kernel and no op of" in run.stderr


@pytest.mark.parametrize("option", ["--baseline", "--file", "--budget", "--shard", "--output"])
def test_a_variable_that_is_not_set_is_wrong_use(new_home, option):
    home = new_home(project(kernel_op("twice", "twice.ptx")))
    for words in ((option, ""), (f"{option}=",)):
        run = home.run("ci", *words)
        assert run.returncode == 2, run.stdout
        assert option in run.stderr


def test_two_reports_do_not_go_into_one_file(new_home):
    home = new_home(project(kernel_op("twice", "twice.ptx")))
    for words in (("--report", "junit=out", "--report", "sarif=out"), ("--report", "junit=out", "--report", "sarif=./out"),
                  ("--format", "json", "--output", "out", "--report", "junit=out")):
        run = home.run("ci", *words)
        assert run.returncode == 2, run.stdout
        assert "would go into this file; name two files" in run.stderr
        assert not (home.project / "out").exists()


def test_commands_in_reports_can_be_pasted_into_a_shell(new_home):
    name = "x; echo $(id) 'y'"
    home = new_home(project(kernel_op(name, "wrong.ptx")))
    run = home.run("ci", "--report", "junit=out.xml", "--report", "sarif=out.sarif")
    assert run.returncode == 1, run.stderr
    message = json.loads((home.project / "out.sarif").read_text())["runs"][0]["results"][0]["message"]["text"]
    command = re.search(r"replay: (gpuemu .*)", message).group(1)
    words = shlex.split(command)
    assert words[:2] == ["gpuemu", "reproduce"] and words[3:] == ["--op", name]
    assert "fails" in home.run(*words[1:]).stdout
    etree = pytest.importorskip("lxml.etree")
    text = etree.fromstring((home.project / "out.xml").read_bytes()).find(".//failure").text
    assert shlex.split(re.search(r"replay: (gpuemu .*)", text).group(1)) == words


@pytest.mark.parametrize("character", ["\u202e", "\u200f", "\u2066", "\u2069"])
def test_names_that_turn_the_direction_of_text_are_refused(new_home, character):
    home = new_home(project(kernel_op(f"a{character}b", "twice.ptx")))
    run = home.run("ci")
    assert run.returncode == 2
    assert "turn the direction of text" in run.stderr and character not in run.stdout
