"""Mutation testing through the real programs, and the difference of two kernels."""
import json
import re

import pytest


def mutate(gpuemu, *arguments):
    result = gpuemu.run("mutate", *arguments, "--format", "json")
    assert result.returncode in (0, 1, 3, 130), result.stdout + result.stderr
    return json.loads(result.stdout)


@pytest.mark.slow
def test_mutants_of_a_reduction_are_killed_or_explained(gpuemu):
    report = mutate(gpuemu, "softmax", "--seed", "5", "--mutants", "40", "--cases", "24")
    assert report["total"] == 40 and report["found"] >= 40
    assert report["killed"] + report["survived"] + report["equivalent"] + report["invalid"] == 40
    assert report["score"] >= 0.8, [one for one in report["mutants"] if one["status"] == "survived"]
    for one in report["mutants"]:
        assert one["before"] != one["after"] and one["ptx_line"] > 0
        if one["status"] == "killed":
            assert one["killed_by"] and 1 <= one["cases"] <= report["cases"]
        if one["status"] == "survived":
            assert one.get("killing_strategy") or one["reason"]
    kinds = {one["mutation"] for one in report["mutants"]}
    assert {"drop_barrier", "shift_index", "swap_constant"} <= kinds
    barriers = [one for one in report["mutants"] if one["mutation"] == "drop_barrier"]
    assert any(one.get("killed_by") == "DataRace" for one in barriers)
    assert all(one["line"] > 0 and one["file"].endswith((".cu", ".cuh")) for one in barriers)


def test_mutants_that_only_round_otherwise_are_equivalent_and_less_accurate_ones_are_not(gpuemu):
    report = mutate(gpuemu, "softmax", "--seed", "42", "--mutants", "0", "--mutation", "swap_constant")
    by_change = {(one["before"], one["after"]): one for one in report["mutants"]}
    shifted = next(one for (before, _), one in by_change.items() if "0f32A57060" in before)  # The low part of log2(e).
    assert shifted["status"] == "equivalent" and "only the rounding of the outputs differs" in shifted["reason"], shifted
    assert all(one["status"] == "killed" for (before, _), one in by_change.items() if "0fFF800000" in before), "a maximum that begins with 0"
    for one in report["mutants"]:
        if one["status"] == "survived":
            assert "of what the tolerance allows" in one["reason"] or one["killing_strategy"], one
    assert report["score"] >= 0.9, report["score"]


def test_the_same_seed_gives_the_same_verdicts(gpuemu):
    first, again = (mutate(gpuemu, "vector_add", "--seed", "9", "--cases", "4", "--mutants", "12") for _ in range(2))
    for report in (first, again):
        report.pop("duration_ms")
    assert first == again


def test_a_configuration_that_sees_little_has_survivors_and_is_told_what_would_kill_them(gpuemu):
    file = gpuemu.project / "gpuemu.toml"
    file.write_text(file.read_text().replace("seed = 42", 'seed = 42\nstrategies = ["zeros"]', 1))
    report = mutate(gpuemu, "vector_add", "--mutation", "add_to_sub", "--cases", "2")
    (mutant,) = report["mutants"]
    assert mutant["status"] == "survived" and report["score"] == 0
    assert mutant["killing_strategy"] not in ("", "zeros") and mutant["killing_dims"]
    low = gpuemu.run("mutate", "vector_add", "--mutation", "add_to_sub", "--cases", "2", "--score-min", "95")
    assert low.returncode == 1 and "would be killed by strategies" in low.stdout


def test_a_kernel_that_fails_by_itself_has_no_score(gpuemu):
    result = gpuemu.run("mutate", "scale_missing_tail_mask", "--cases", "8")
    assert result.returncode == 2 and "fails by itself" in result.stderr


@pytest.mark.parametrize("arguments, said", [
    (["nothing"], "nothing"), (["softmax", "--mutation", "drop_all"], "drop_barrier"),
    (["softmax", "--dtype", "float16"], "does not list"), (["softmax", "--kernel", "gelu"], "no kernel 'gelu'"),
    (["softmax", "--budget", "soon"], "--budget")])
def test_wrong_use_is_told(gpuemu, arguments, said):
    result = gpuemu.run("mutate", *arguments)
    assert result.returncode == 2 and said in result.stderr, result.stderr


def test_no_time_leaves_mutants_that_were_not_run(gpuemu):
    words = ("softmax", "--seed", "5", "--budget", "1s", "--mutants", "0", "--cases", "4000")
    report = mutate(gpuemu, *words)
    assert report["not_run"] > 0 and "mutants were run" in report["incomplete"], report
    assert report["killed"] + report["not_run"] + report["survived"] + report["equivalent"] + report["invalid"] == report["total"]
    told = gpuemu.run("mutate", *words)
    assert told.returncode == 3 and "no mutation score" in told.stdout and "is incomplete: the time was up" in told.stderr, told.stdout + told.stderr
    assert not re.search("^mutation score", told.stdout, re.MULTILINE), told.stdout


def test_two_kernels_are_compared_whatever_their_registers_are_called(gpuemu):
    source = gpuemu.project / "kernels" / "rowmax_wrong_identity.cu"
    other = gpuemu.project / "kernels" / "rowmax_right.cu"
    other.write_text(source.read_text().replace("float largest = 0.0f;", "float largest = -INFINITY;"))
    same = gpuemu.run("diff", source, source)
    assert same.returncode == 0 and "no difference" in same.stdout, same.stdout + same.stderr
    changed = gpuemu.run("diff", source, other, "--format", "json")
    assert changed.returncode == 1
    reply = json.loads(changed.stdout)
    assert reply["verdict"] != "none"
    texts = [one["text"] for entry in reply["entries"] for one in entry["differences"]]
    assert any("0 -> -inf" in text for text in texts), texts
    missing = gpuemu.run("diff", source, "no.ptx")
    assert missing.returncode == 2 and "no.ptx" in missing.stderr
    assert gpuemu.run("diff", source).returncode == 2


def test_renamed_ptx_is_the_same_kernel(gpuemu):
    reduce = gpuemu.project / "a.ptx"
    head = ".version 8.0\n.target sm_80\n.address_size 64\n"
    body = ".visible .entry k(.param .u64 x)\n{\n.reg .b64 %rd<3>;\n.reg .f32 %f<3>;\nld.param.u64 %rd1, [x];\nld.global.f32 %f1, [%rd1];\nadd.f32 %f2, %f1, 0f3F800000;\nst.global.f32 [%rd1], %f2;\nret;\n}\n"
    reduce.write_text(head + body)
    renamed = gpuemu.project / "b.ptx"
    renamed.write_text(head + re.sub(r"%f2\b", "%f0", body).replace("entry k", "entry renamed"))
    assert gpuemu.run("diff", "a.ptx", "b.ptx").returncode == 0
    renamed.write_text(head + body.replace("0f3F800000", "0f40000000"))
    told = gpuemu.run("diff", "a.ptx", "b.ptx")
    assert told.returncode == 1 and "[constant] k" in told.stdout and "1 -> 2" in told.stdout, told.stdout
