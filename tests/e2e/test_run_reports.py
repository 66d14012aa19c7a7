"""gpuemu run: the reports for code scanning and for CI, and findings of the tests of pytest."""
import json
import pathlib
import sys
import tempfile
import textwrap
import xml.etree.ElementTree

import pytest

from test_reports import SCHEMAS
from test_run import document, run
from test_run_driver import SOURCES, add  # noqa: F401 (add is a fixture)


def line_of(text):
    return next(number for number, line in enumerate((SOURCES / "add.c").read_text().splitlines(), 1) if text in line)


def report(form, *words, **options):
    with tempfile.TemporaryDirectory() as folder:
        done = run("--format", form, "--output", f"{folder}/report", *words, **options)
        return done, pathlib.Path(folder, "report").read_text()


def sarif(*words, **options):
    done, text = report("sarif", *words, **options)
    (only,) = json.loads(text)["runs"]
    return done, only


def junit(*words, **options):
    """Each test case as (suite, name): the kind and the text of its failure, or None."""
    done, text = report("junit", *words, **options)
    document = xml.etree.ElementTree.fromstring(text)
    cases = {}
    for suite in document.iter("testsuite"):
        assert int(suite.get("tests")) == len(suite.findall("testcase"))
        assert int(suite.get("failures")) == len(suite.findall("testcase/failure"))
        for case in suite.iter("testcase"):
            failure = case.find("failure")
            cases[suite.get("name"), case.get("name")] = failure if failure is None else (failure.get("type"), failure.text)
    assert int(document.get("tests")) == len(cases)
    return done, cases


def test_both_reports_are_valid_documents_of_their_kind(add):
    jsonschema, etree = pytest.importorskip("jsonschema"), pytest.importorskip("lxml.etree")
    schema = json.loads((SCHEMAS / "sarif-2.1.0.json").read_text())
    for mode in ("outside", "twice", "wrong", "right"):
        jsonschema.validate(json.loads(report("sarif", "--", add, mode)[1]), schema)
        etree.XMLSchema(etree.parse(str(SCHEMAS / "junit.xsd"))).assertValid(etree.fromstring(report("junit", "--", add, mode)[1].encode()))


def steps(flow):
    (thread,) = flow["threadFlows"]
    return [(one["location"]["message"]["text"], one["location"]["physicalLocation"]["region"]["startLine"])
            for one in thread["locations"]]


def test_sarif_has_a_result_for_each_finding_with_its_stacks_as_code_flows(add):
    done, only = sarif("--", add, "outside", cwd=SOURCES)
    assert done.returncode == 1
    (result,) = only["results"]
    assert (result["ruleId"], result["level"], result["suppressions"]) == ("run/OutOfBounds", "error", [])
    assert "reads 4 bytes at byte offset 4000 of 'allocation 1'" in result["message"]["text"] and "72 times" in result["message"]["text"]
    (place,) = result["locations"]
    assert place["physicalLocation"]["artifactLocation"]["uri"] == "scale.cu" and place["physicalLocation"]["region"]["startLine"] == 7
    assert place["logicalLocations"] == [{"kind": "function", "name": "add"}]
    launched, allocated = map(steps, result["codeFlows"])
    assert [text for text, _ in launched] == ["launched at main", "launched at outside", "launched at launch"]
    assert launched[-1][1] == line_of("return cuLaunchKernel")
    assert allocated[-1] == ("allocated at make", line_of("cuMemAlloc_v2(&made"))
    last = result["codeFlows"][0]["threadFlows"][0]["locations"][-1]["location"]
    assert last["physicalLocation"]["artifactLocation"]["uri"] == "add.c"  # Relative to the working folder.
    assert [rule["id"] for rule in only["tool"]["driver"]["rules"]] == ["run/OutOfBounds"]


def test_sarif_places_wrong_calls_at_their_line_and_names_the_place_of_the_free(add):
    _, only = sarif("--", add, "twice")
    (result,) = only["results"]
    assert result["ruleId"] == "run/InvalidFree"
    assert result["locations"][0]["physicalLocation"]["region"]["startLine"] == line_of("free gives")
    assert [steps(flow)[-1][0] for flow in result["codeFlows"]] == ["called at twice", "allocated at make", "freed at twice"]


def test_sarif_keeps_what_is_suppressed_with_the_reason(add, tmp_path):
    known = tmp_path / "known.toml"
    known.write_text('[[suppress]]\nkernel = "add"\nreason = "the tail is fixed next week"\n')
    done, only = sarif("--suppress", known, "--", add, "outside")
    assert done.returncode == 0
    (result,) = only["results"]
    assert result["suppressions"] == [{"kind": "external", "justification": "the tail is fixed next week"}]


def test_sarif_lists_calls_that_are_not_supported_and_a_program_that_failed(add):
    _, only = sarif("--", add, "wrong")
    notes = [one["message"]["text"] for one in only["invocations"][0]["toolExecutionNotifications"]]
    assert notes == ["cuIpcGetMemHandle is not supported; it was called 2 times"]
    _, only = sarif("--", add, "seven")
    (note,) = only["invocations"][0]["toolExecutionNotifications"]
    assert only["results"] == [] and note["message"]["text"] == "the program ended with exit code 7"


def test_junit_has_a_case_for_each_kernel_and_each_wrong_call(add, tmp_path):
    done, cases = junit("--", add, "right")
    assert done.returncode == 0 and cases == {("kernels", "add"): None}
    done, cases = junit("--", add, "outside")
    (kind, text) = cases["kernels", "add"]
    assert done.returncode == 1 and len(cases) == 1 and kind == "OutOfBounds"
    assert "at            scale.cu:7, kernel add" in text and "launched at" in text
    _, cases = junit("--", add, "twice")
    assert list(cases) == [("calls", "cuMemFree")] and cases["calls", "cuMemFree"][0] == "InvalidFree"
    known = tmp_path / "known.toml"
    known.write_text('[[suppress]]\nkernel = "add"\nreason = "known"\n')
    assert junit("--suppress", known, "--", add, "outside")[1] == {("kernels", "add"): None}


SUITE = """
    import ctypes, pytest
    cuda = ctypes.CDLL("libcuda.so.1")
    PTX = (b".version 7.0 .target sm_70 .address_size 64 .visible .entry put(.param .u64 p) "
           b"{ .reg .b64 %a; ld.param.u64 %a, [p]; st.global.u32 [%a], 1; ret; }")
    context, module, function = (ctypes.c_void_p() for _ in range(3))
    assert cuda.cuInit(0) == 0 and cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) == 0
    assert cuda.cuCtxSetCurrent(context) == 0 and cuda.cuModuleLoadData(ctypes.byref(module), PTX) == 0
    assert cuda.cuModuleGetFunction(ctypes.byref(function), module, b"put") == 0
    memory = ctypes.c_uint64()
    assert cuda.cuMemAlloc_v2(ctypes.byref(memory), ctypes.c_size_t(64)) == 0

    def put(offset):
        at = ctypes.c_uint64(memory.value + offset)
        values = (ctypes.c_void_p * 1)(ctypes.addressof(at))
        assert cuda.cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, None, values, None) == 0
        cuda.cuCtxSynchronize()

    @pytest.mark.parametrize("offset", [0, 64, 128])
    def test_put(offset):
        put(offset)

    def test_copy():
        values = ctypes.create_string_buffer(64)
        assert cuda.cuMemcpyDtoH_v2(values, memory, ctypes.c_size_t(65)) == 1

    def test_nothing():
        pass
"""


def test_findings_under_pytest_name_each_test_in_which_they_occur(tmp_path):
    (tmp_path / "test_put.py").write_text(textwrap.dedent(SUITE))
    command = ["--", sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_put.py"]
    done, cases = junit(*command, cwd=tmp_path)
    assert done.returncode == 1, done.stdout
    name = "test_put.py::test_put[{}]".format
    assert {key: case and case[0] for key, case in cases.items()} == {
        ("tests", name(0)): None, ("tests", name(64)): "OutOfBounds", ("tests", name(128)): "OutOfBounds",
        ("tests", "test_put.py::test_copy"): "OutOfBounds"}
    done, report = document(*command, cwd=tmp_path)
    kernel, copy = sorted(report["findings"], key=lambda one: one["kernel"], reverse=True)
    assert kernel["test"] == name(64) and kernel["tests"] == [name(64), name(128)] and kernel["count"] == 2
    assert copy["test"] == "test_put.py::test_copy"
    text = run(*command, cwd=tmp_path).stderr
    assert f"  in test       {name(64)} and 1 more\n" in text


def test_a_finding_is_suppressed_by_test_when_each_of_its_tests_is(tmp_path):
    (tmp_path / "test_put.py").write_text(textwrap.dedent(SUITE))
    command = ["--", sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_put.py", "-k", "test_put"]
    known = tmp_path / "known.toml"
    known.write_text('[[suppress]]\ntest = "*put\\\\[64\\\\]"\nreason = "known"\n')
    assert run("--suppress", known, *command, cwd=tmp_path).returncode == 1
    known.write_text('[[suppress]]\ntest = "*test_put*"\nreason = "known"\n')
    assert run("--suppress", known, *command, cwd=tmp_path).returncode == 0
