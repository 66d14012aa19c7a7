"""Metrics of compiled code over the wire, as existing clients ask for them."""
import pytest

from projects import client_project

PTX = """.version 8.0
.target sm_80
.address_size 64
.visible .entry first(
\t.param .u64 p
)
{
\t.local .align 16 .b8 \t__local_depot0[32];
\t.shared .align 4 .f32 tile[8];
\t.reg .pred \t%p<2>;
\t.reg .f32 \t%f<40>;
\t.reg .b32 \t%r<30>;

\tld.local.f32 \t%f2, [%rd1];
\t@%p1 bra \t$L__BB0_2;
\tadd.f32 \t%f1, %f2, %f3;
$L__BB0_2:
\tret;
}
"""
METRICS = {"kernel_name": "k", "register_count": 10, "spill_count": 1, "local_memory_bytes": 16,
           "shared_memory_bytes": 0, "instruction_count": 9, "patterns_found": ["add.f32"],
           "source": "Sass", "timestamp": 1, "ptx_content": "text \"é\" \n"}


@pytest.fixture(scope="module")
def plain(new_home):
    """A daemon whose project has no kernel of ours."""
    home = new_home({"gpuemu.toml": '[project]\nname = "none"\n'})
    home.start()
    return home


@pytest.fixture(scope="module")
def checked(new_home):
    """A daemon whose project has two kernels with checks of their own."""
    checks = '\n[kernels.artifact_checks]\nmax_registers = 72\nmax_spills = 5\nmax_local_memory = 64\n'
    files = client_project()
    files["gpuemu.toml"] += checks + 'forbidden_patterns = ["ld.local"]\nrequired_patterns = ["fma"]\n'
    home = new_home(files)
    home.start()
    return home


def lint(home, name, text=PTX):
    reply = home.ask("LintKernel", kernel_name=name, ptx_content=text)
    assert reply["type"] == "LintResults", reply
    return reply["results"]


def test_numbers_are_those_of_existing_daemons(plain):
    [result] = lint(plain, None)
    metrics = result["metrics"]
    assert set(result) >= {"kernel_name", "passed", "metrics", "violations", "timestamp"}
    assert result["kernel_name"] == metrics["kernel_name"] == "first"
    assert [metrics[name] for name in ("register_count", "spill_count", "local_memory_bytes", "shared_memory_bytes",
                                       "instruction_count")] == [72, 1, 32, 8, 3]
    assert metrics["patterns_found"] == ["ld.local.f32", "add.f32", "ret"]
    assert metrics["source"] == "Ptx" and metrics["ptx_content"] is None
    kinds = {one["kind"]: (one["actual"], one["threshold"]) for one in result["violations"]}
    assert kinds == {"ExcessiveRegisters": (72, 64), "ExcessiveSpills": (1, 0), "ExcessiveLocalMemory": (32, 0)}
    assert result["passed"] is False


def test_the_name_decides_which_limits_hold(checked):
    [unknown] = lint(checked, "elsewhere")
    assert {one["threshold"] for one in unknown["violations"]} == {64, 0}
    [named] = lint(checked, "tripled")
    assert [(one["kind"], one["actual"], one["threshold"]) for one in named["violations"]] == [
        ("MissingRequiredPattern", None, None), ("ForbiddenPatternFound", None, None)]
    every = lint(checked, None)
    assert [one["kernel_name"] for one in every] == ["twice", "tripled"]
    for name in ("twice", "tripled", "elsewhere"):
        stored = checked.ask("GetArtifact", kernel_name=name)
        assert (stored["type"], stored["kernel_name"], stored["register_count"]) == ("ArtifactMetricsResult", name, 72)


def test_what_is_no_ptx_is_refused_and_any_fragment_of_ptx_is_read(plain):
    for text in ("", "int main() {}", "\0\x01\x02" * 100):
        reply = plain.ask("LintKernel", kernel_name="x", ptx_content=text)
        assert (reply["type"], reply["code"]) == ("Error", "PtxParseError"), text
        assert "not PTX" in reply["message"]
    for text in (".version 7.0", "\t.reg .b32 %r<3>;", ".version 99.9\n.target sm_999\n"):
        assert lint(plain, "x", text)[0]["passed"]


def test_stored_metrics_come_back_and_are_compared(new_home):
    home = new_home({"gpuemu.toml": ""})
    home.start()
    assert home.ask("ListArtifacts") == {"type": "ArtifactList", "artifacts": []}
    reply = home.ask("GetArtifact", kernel_name="k")
    assert reply["code"] == "ArtifactNotFound" and "'k'" in reply["message"]
    reply = home.ask("DiffArtifactBaseline", tag="main")
    assert reply["code"] == "BaselineNotFound" and "'main'" in reply["message"]
    assert home.ask("StoreArtifactBaseline", tag="")["code"] == "InvalidRequest"
    assert home.ask("StoreArtifact", kernel_name="ignored", metrics=METRICS) == {"type": "Ok"}
    assert home.ask("GetArtifact", kernel_name="k") == {"type": "ArtifactMetricsResult", **METRICS}
    assert home.ask("StoreArtifactBaseline", tag="main") == {"type": "Ok"}
    same = home.ask("DiffArtifactBaseline", tag="main")
    assert same["has_regressions"] is False and same["baseline_tag"] == "main"
    assert same["diffs"] == [{"kernel_name": "k", "baseline": METRICS, "current": METRICS, "register_delta": 0,
                              "spill_delta": 0, "local_memory_delta": 0, "instruction_delta": 0,
                              "is_regression": False}]
    home.ask("StoreArtifact", kernel_name="", metrics={**METRICS, "register_count": 12, "instruction_count": 5})
    home.ask("StoreArtifact", kernel_name="", metrics={**METRICS, "kernel_name": "new"})
    home.stop()  # Both are on disk.
    home.start()
    diffs = {one["kernel_name"]: one for one in home.ask("DiffArtifactBaseline", tag="main")["diffs"]}
    assert (diffs["k"]["register_delta"], diffs["k"]["instruction_delta"], diffs["k"]["is_regression"]) == (2, -4, True)
    assert diffs["new"]["baseline"] is None and diffs["new"]["is_regression"] is False
    assert home.ask("StoreArtifactBaseline", tag="main") == {"type": "Ok"}  # Replaces it.
    assert home.ask("DiffArtifactBaseline", tag="main")["has_regressions"] is False
