"""tools/cpp_tests.py reports a test program that crashes, writes no result or cannot be started as failed."""
import importlib.util
import pathlib
import stat

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
spec = importlib.util.spec_from_file_location("cpp_tests", ROOT / "tools" / "cpp_tests.py")
cpp_tests = importlib.util.module_from_spec(spec)
spec.loader.exec_module(cpp_tests)

RESULT = '<testsuites><testsuite name="Sum"><testcase classname="Sum" name="Adds">{}</testcase></testsuite></testsuites>'


def program(folder, *lines):
    path = folder / "sum_test"
    path.write_text("#!/bin/sh\n" + "\n".join(lines) + "\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


def faults_of(suites):
    return [(case.get("name"), case.find("failure").get("message")) for suite in suites for case in suite if case.find("failure") is not None]


def test_a_program_that_passes_has_no_fault(tmp_path):
    path = program(tmp_path, f"echo '{RESULT.format('')}' > ${{1#--gtest_output=xml:}}")
    assert faults_of(cpp_tests.run_program(path, str(tmp_path), ())) == []


@pytest.mark.parametrize("lines, expected", [
    (["echo '[ RUN      ] Sum.Adds'", "kill -SEGV $$"], ("Sum.Adds", "sum_test ended with -11 and wrote no result")),
    (["exit 0"], ("start", "sum_test ended with 0 and wrote no result")),
    ([f"echo '{RESULT.format('')}' > ${{1#--gtest_output=xml:}}", "exit 3"], ("start", "sum_test ended with 3 although no test failed")),
], ids=["crash", "no result", "failure after the tests"])
def test_a_program_that_ends_badly_is_one_failure(tmp_path, lines, expected):
    assert faults_of(cpp_tests.run_program(program(tmp_path, *lines), str(tmp_path), ())) == [expected]


def test_a_program_that_is_missing_is_one_failure(tmp_path):
    (name, message), = faults_of(cpp_tests.run_program(str(tmp_path / "none_test"), str(tmp_path), ()))
    assert name == "start" and message.startswith("none_test cannot be started")


def test_a_program_that_was_not_built_is_one_failure(tmp_path):
    (tmp_path / "CTestTestfile.cmake").write_text('add_test(built "/bin/true")\nadd_test(sum_test_NOT_BUILT "sum_test_NOT_BUILT")\n')
    faults = faults_of(cpp_tests.run_by_ctest(str(tmp_path), ["built", "sum_test_NOT_BUILT"]))
    assert faults == [("start", "ctest ended with 8 although no test failed")]
