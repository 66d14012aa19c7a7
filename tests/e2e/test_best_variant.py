"""`auto_select = "best_performance"`: which variant runs each case, why, and that the choice is remembered and repeatable."""
import json
import re

import pytest

from projects import SCALE_PTX, TWO

MUL = "\tmul.f32 %f2, %f1, FACTOR;\n"
DEAR = SCALE_PTX.replace(MUL, MUL + "\tadd.f32 %f2, %f2, 0f00000000;\n" * 40)
CHEAP = SCALE_PTX.replace("FACTOR", TWO)
FILES = {"ref_twice.py": "def reference(x):\n    return 2.0 * x\n", "cheap.ptx": CHEAP, "dear.ptx": DEAR.replace("FACTOR", TWO),
         "beyond.ptx": CHEAP.replace("setp.ge.s32 %p1, %r5, %r1", "setp.gt.s32 %p1, %r5, %r1")}
POLICY = 'auto_select = "best_performance"\n'


def project(variants, policy=POLICY, dims="n = [1, 300]"):
    """`variants`: name, source and more keys of each."""
    names = ", ".join(f'"{name}"' for name, *_ in variants)
    text = f"""[validation]\nseed = 7\ncases = 24\n[runtime]\nbackend = "emulator"\nworkers = 2\n[runtime.kernel_policy]\n{policy}
[[ops]]\nname = "op"\nkernel = [{names}]\nreference = "ref_twice.py"
inputs = [{{ name = "x", shape = ["n"], dtype = "float32" }}]\noutputs = [{{ name = "y", shape = ["n"], dtype = "float32" }}]
dims = {{ {dims} }}\n"""
    for name, source, *more in variants:
        text += f'[[kernels]]\nname = "{name}"\nsource = "{source}"\n' + "".join(more)
        text += 'launches = [{ entry = "scale", grid = ["cdiv(n, 128)"], block = ["128"], args = ["x", "y", "i32:n"] }]\n'
    return {**FILES, "gpuemu.toml": text}


def chosen(run):
    """The sentences of the report: variant -> the rest."""
    return dict(re.findall(r"best_performance chose (\w+) for (.*)", run.stdout))


def test_the_cheaper_variant_runs_whatever_the_priorities_say(new_home):
    home = new_home(project([("dear", "dear.ptx", "priority = 9\n"), ("cheap", "cheap.ptx")]))
    run = home.run("test", "-v")
    assert run.returncode == 0 and 'has no effect' not in run.stderr, run.stdout + run.stderr
    said = chosen(run)
    assert said.keys() == {"cheap"}, run.stdout
    shape = r"24 cases in \d+ shape classes; for x \[\d+\]: [\d.]+ steps, dear [\d.]+ steps"
    assert re.fullmatch(shape, said["cheap"].strip()), said
    setting = home.run("config", "show", "--origin").stdout
    assert re.search(r'runtime.kernel_policy.auto_select = "best_performance".*gpuemu.toml:8', setting), setting


def test_without_the_setting_priority_decides(new_home):
    home = new_home(project([("dear", "dear.ptx", "priority = 9\n"), ("cheap", "cheap.ptx")], policy='auto_select = "first_supported"\n'))
    run = home.run("test", "--format", "json")
    assert '"kernel":"dear"' in run.stdout and "best_performance" not in run.stdout


def test_a_preferred_variant_comes_before_measurements(new_home):
    home = new_home(project([("dear", "dear.ptx"), ("cheap", "cheap.ptx")], policy=POLICY + 'op = "dear"\n'))
    run = home.run("test", "-v", "--format", "json")
    assert '"kernel":"dear"' in run.stdout and "best_performance" not in run.stdout


def test_a_single_warp_is_no_match_for_a_thread_per_element(new_home):
    """It executes fewer instructions, but one after another."""
    loop = """extern "C" __global__ void scale(const float* x, float* y, int n) {
  for (int i = threadIdx.x; i < n; i += 32) y[i] = 2.0f * x[i];
}
"""
    files = project([("wide", "cheap.ptx"), ("one", "one.cu", "priority = 1\n")], dims="n = [2000, 4000]")
    head, _, tail = files["gpuemu.toml"].rpartition('grid = ["cdiv(n, 128)"], block = ["128"]')
    home = new_home({**files, "one.cu": loop, "gpuemu.toml": head + 'grid = ["1"], block = ["32"]' + tail})
    assert chosen(home.run("test", "-v")).keys() == {"wide"}


def test_equally_good_variants_run_by_priority_then_by_their_order(new_home):
    home = new_home(project([("first", "cheap.ptx"), ("second", "cheap.ptx"), ("third", "cheap.ptx", "priority = 1\n")]))
    assert chosen(home.run("test", "-v")).keys() == {"third"}
    home = new_home(project([("first", "cheap.ptx"), ("second", "cheap.ptx")]))
    assert chosen(home.run("test", "-v")).keys() == {"first"}


def test_each_class_of_sizes_has_its_own_best(new_home):
    home = new_home(project([("cheap", "cheap.ptx", 'supports = "n > 100"\n'), ("dear", "dear.ptx")]))
    said = chosen(home.run("test", "-v"))
    # Where only one is able, nothing is measured.
    assert said.keys() == {"cheap"}
    assert "for x [128]" in said["cheap"] or "for x [256]" in said["cheap"] or "for x [512]" in said["cheap"], said


def test_the_choice_is_measured_once_and_does_not_depend_on_the_seed_or_the_order(new_home):
    home = new_home(project([("dear", "dear.ptx"), ("cheap", "cheap.ptx")]))
    one = chosen(home.run("test", "-v", "--seed", "1", "--cases", "200"))
    # Another daemon, which knows only what the database holds.
    assert home.run("daemon", "stop").returncode == 0
    again = chosen(home.run("test", "-v", "--seed", "1", "--cases", "200"))
    fresh = new_home(project([("dear", "dear.ptx"), ("cheap", "cheap.ptx")]))
    fresh.run("test", "--seed", "99", "--cases", "5")
    other = chosen(fresh.run("test", "-v", "--seed", "1", "--cases", "200"))
    assert one == again == other


def test_a_verdict_that_ci_keeps_repeats_which_variant_ran_and_why(new_home):
    home = new_home(project([("dear", "dear.ptx"), ("cheap", "cheap.ptx")]))
    first, second = (json.loads(home.run("ci", "--format", "json").stdout) for _ in range(2))
    said = [note for note in first["notes"] if "best_performance chose cheap" in note]
    assert len(said) == 1 and second["ops"][0]["cached"], second
    assert said[0] in second["notes"], second["notes"]


def test_code_that_changes_is_measured_again(new_home):
    home = new_home(project([("a", "dear.ptx"), ("b", "cheap.ptx")]))
    assert chosen(home.run("test", "-v")).keys() == {"b"}
    (home.project / "dear.ptx").write_text(FILES["cheap.ptx"])
    (home.project / "cheap.ptx").write_text(FILES["dear.ptx"])
    assert chosen(home.run("test", "-v")).keys() == {"a"}


def test_a_variant_that_faults_is_not_passed_over(new_home):
    home = new_home(project([("cheap", "cheap.ptx"), ("beyond", "beyond.ptx")]))
    run = home.run("test", "-v")
    assert run.returncode == 1 and "[OutOfBounds]" in run.stdout, run.stdout
    assert "it could not be measured: reads 4 bytes" in chosen(run)["beyond"], run.stdout


def test_a_stored_failure_keeps_its_variant(new_home):
    home = new_home(project([("cheap", "cheap.ptx"), ("beyond", "beyond.ptx")]))
    assert home.run("test").returncode == 1
    seed = home.run("failures", "--limit", "1").stdout.split()[0]
    # Now the other one would be chosen, if the case did not name its own.
    text = (home.project / "gpuemu.toml").read_text().replace(POLICY, "")
    (home.project / "gpuemu.toml").write_text(text)
    replay = home.run("reproduce", seed)
    assert "fails" in replay.stdout and "beyond" in replay.stdout, replay.stdout


@pytest.mark.parametrize("where", ["runtime.kernel_policy.auto_select", "runtime.auto_select"])
def test_a_misspelt_rule_names_the_right_ones(new_home, where):
    home = new_home({"gpuemu.toml": f'{where} = "best_perfomance"\n'})
    run = home.run("config", "check")
    assert run.returncode == 2 and f"{where}: " in run.stdout + run.stderr
    assert "did you mean 'best_performance'?" in run.stdout + run.stderr, run.stdout + run.stderr
