"""The documents of `gpuemu ci` against the published schemas, with real validators."""
import html.parser
import json
import pathlib
import subprocess
import sys

import pytest

from conftest import ROOT
from test_ci import project, rewrite, summary_of

SCHEMAS = pathlib.Path(__file__).parents[1] / "schemas"
NAMES = ["json", "junit", "sarif", "pr-comment", "html", "lcov", "codecov"]


@pytest.fixture(scope="module")
def reports(new_home):
    """One run with a failing op, a broken limit and a regression, and one where all is well."""
    home = new_home(project(cases=4))
    assert home.run("baseline", "save", "good", "--file", "good.json").returncode == 0
    words = [word for name in NAMES for word in ("--report", f"{name}=good.{name}.out")]
    good = home.run("ci", "--coverage", *words)
    assert good.returncode == 0, good.stdout + good.stderr
    for name, text in project(wrong=True, limit=3, cases=4).items():
        rewrite(home, name, text.replace(".reg .f32 %f<3>;", ".reg .f32 %f<3>;\n\t.local .b8 buf[64];"))
    words = [word for name in NAMES for word in ("--report", f"{name}=bad.{name}.out")]
    bad = home.run("ci", "--coverage", "--file", "good.json", *words)
    assert bad.returncode == 1, bad.stdout + bad.stderr
    return {f"{kind} {name}": (home.project / f"{kind}.{name}.out").read_text() for kind in ("good", "bad")
            for name in NAMES}


def closed(schema):
    """The same with no member that is not listed: a record that grew without its schema is found."""
    if isinstance(schema, dict):
        schema = {key: closed(value) for key, value in schema.items()}
        if "properties" in schema:
            schema["additionalProperties"] = False
    return [closed(one) for one in schema] if isinstance(schema, list) else schema


@pytest.mark.parametrize("kind", ["good", "bad"])
def test_json_has_the_published_form(reports, kind):
    jsonschema = pytest.importorskip("jsonschema")
    schema = json.loads((ROOT / "docs/schemas/ci.schema.json").read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    summary = json.loads(reports[f"{kind} json"])
    jsonschema.validate(summary, closed(schema), jsonschema.Draft202012Validator)
    del summary["ops"][0]["passed"]
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(summary, schema, jsonschema.Draft202012Validator)


def test_the_published_form_is_that_of_the_tables():
    done = subprocess.run([sys.executable, ROOT / "tools/ci_schema.py", "--check"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("kind", ["good", "bad"])
def test_junit_is_valid_and_its_counts_agree(reports, kind):
    etree = pytest.importorskip("lxml.etree")
    schema = etree.XMLSchema(etree.parse(str(SCHEMAS / "junit.xsd")))
    root = etree.fromstring(reports[f"{kind} junit"].encode())
    schema.assertValid(root)
    assert int(root.get("failures")) == len(root.findall(".//failure"))
    assert int(root.get("tests")) == len(root.findall(".//testcase"))
    assert (int(root.get("failures")) > 0) == (kind == "bad")
    for suite in root:
        assert int(suite.get("tests")) == len(suite.findall("testcase"))
    if kind == "bad":
        assert {suite.get("name") for suite in root} == {"validation", "lint", "artifacts"}


@pytest.mark.parametrize("kind", ["good", "bad"])
def test_sarif_is_valid_and_every_result_has_a_line_in_the_repository(reports, kind):
    jsonschema = pytest.importorskip("jsonschema")
    log = json.loads(reports[f"{kind} sarif"])
    jsonschema.validate(log, json.loads((SCHEMAS / "sarif-2.1.0.json").read_text()))
    results = log["runs"][0]["results"]
    rules = {rule["id"] for rule in log["runs"][0]["tool"]["driver"]["rules"]}
    assert {one["ruleId"] for one in results} == rules
    if kind == "good":
        assert results == []
        return
    assert {"validation/ToleranceExceeded", "lint/ExcessiveInstructions", "lint/Regression"} <= rules
    for one in results:
        place = one["locations"][0]["physicalLocation"]
        assert not place["artifactLocation"]["uri"].startswith(("/", "file:")) and place["region"]["startLine"] >= 1


def test_the_comment_names_what_failed_and_how_to_see_it_again(reports):
    text = reports["bad pr-comment"]
    assert text.startswith("## gpuemu: not ready to merge\n") and len(text) < 65536
    assert "gpuemu reproduce" in text and "### Limits" in text and "### Worse than good" in text
    assert reports["good pr-comment"].startswith("## gpuemu: all good\n")
    assert [line for line in reports["good pr-comment"].splitlines() if line.startswith("###")] == ["### Evidence"]


class Page(html.parser.HTMLParser):
    VOID = {"meta", "rect", "br"}

    def __init__(self, text):
        super().__init__()
        self.open, self.seen, self.outside = [], set(), []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.seen.add(tag)
        self.outside += [value for name, value in attrs if name in ("src", "href")]
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.seen.add(tag)

    def handle_endtag(self, tag):
        if tag not in self.VOID:
            assert self.open.pop() == tag


def test_the_page_is_whole_and_needs_nothing_from_elsewhere(reports):
    for kind in ("good", "bad"):
        page = Page(reports[f"{kind} html"])
        assert page.open == [] and all(one.startswith("#") for one in page.outside)
        assert "script" not in page.seen and "img" not in page.seen
    bad = reports["bad html"]
    for heading in ("<h2>1 finding<", "<strong>Error of", "<strong>Elements by size of error", "<h2>Since baseline good",
                    "<h2>Lines that ran", "<summary>Failed cases, one by one", "<h2>Kernels"):
        assert heading in bad, heading
    assert bad.count("<svg") >= 3


def test_coverage_is_of_the_source_and_says_what_did_not_run(reports):
    lcov = reports["good lcov"]
    assert "SF:twice.ptx\n" in lcov and lcov.count("end_of_record") == 2
    record = lcov.split("SF:twice.ptx\n")[1].split("end_of_record")[0]
    counts = dict(map(int, line[3:].split(",")) for line in record.splitlines() if line.startswith("DA:"))
    assert f"LF:{len(counts)}\n" in record and f"LH:{sum(1 for hits in counts.values() if hits)}\n" in record
    source = project()["twice.ptx"].splitlines()
    assert all(source[line - 1].strip() for line in counts)
    assert counts[next(i for i, text in enumerate(source, 1) if "st.global" in text)] > 0
    codecov = json.loads(reports["good codecov"])["coverage"]["twice.ptx"]
    assert {int(line): hits for line, hits in codecov.items()} == counts


def test_reports_in_files_are_whole_or_not_there(new_home):
    home = new_home(project(cases=1))
    folder = home.project / "out"
    folder.mkdir()
    run = home.run("ci", "--quick", "--format", "JUnit", "-o", "out/r.xml")
    assert run.returncode == 0 and run.stdout == "" and "wrote out/r.xml" in run.stderr
    assert [one.name for one in folder.iterdir()] == ["r.xml"]
    same = summary_of(home.run("ci", "--quick", "--format", "json"))
    assert "type" not in same and same["total_tests"] == same["passed"]
