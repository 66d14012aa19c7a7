"""`gpuemu trace`: plans tapes and shows traces, without a daemon."""
import html.parser
import json
import pathlib
import random
import subprocess
import sys
from xml.etree import ElementTree

import pytest

from conftest import ROOT

TAPE = json.loads((ROOT / "tests/golden/traces/tape.json").read_text())


def plan(gpuemu, tape, *options, status=0):
    (gpuemu.project / "tape.json").write_text(json.dumps(tape))
    result = gpuemu.run("trace", "plan", "tape.json", *options)
    assert result.returncode == status, result.stdout + result.stderr
    return json.loads(result.stdout) if status == 0 else result.stderr


def random_tape(seed, count):
    draw, tape = random.Random(seed), []
    for number in range(count):
        made = [one["id"] for one in tape]
        leaf = not made or draw.random() < 0.3
        tape.append({"id": f"t{number}", "op": "ones" if leaf else "add", "shape": [draw.randint(1, 64)], "dtype": "float32",
                     "inputs": [] if leaf else [draw.choice(made), draw.choice(made)]})
    return {"input_tape": tape}


def test_a_plan_has_the_form_of_its_schema(gpuemu):
    jsonschema = pytest.importorskip("jsonschema")
    schema = json.loads((ROOT / "docs/schemas/trace.schema.json").read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(plan(gpuemu, TAPE), schema)
    jsonschema.validate(plan(gpuemu, random_tape(1, 50), "--devices", "3", "--memory-mb", "1"), schema)


@pytest.mark.parametrize("policy", ["balanced", "locality"])
def test_a_trace_planned_again_gives_its_output_queue(gpuemu, policy):
    for seed in range(3):
        first = plan(gpuemu, random_tape(seed, 40), "--devices", "3", "--seed", str(seed), "--policy", policy)
        again = plan(gpuemu, first)
        assert again["output_queue"] == first["output_queue"] and again["policy"] == policy and again["seed"] == seed
        assert sorted(line["seq"] for line in first["output_queue"] if line["kind"] == "run") == list(range(40))
        leaves = [line["device"] for line in first["output_queue"] if line["kind"] == "run" and not first["input_tape"][line["seq"]]["inputs"]]
        assert leaves == [(seed + i) % 3 for i in range(len(leaves))]


class Page(html.parser.HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.tags, self.links = [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.links += [value for name, value in attrs if name in ("src", "href")]


def test_a_trace_is_shown_in_every_format(gpuemu):
    trace = plan(gpuemu, TAPE)
    (gpuemu.project / "trace.json").write_text(json.dumps(trace))
    text = gpuemu.run("trace", "trace.json").stdout
    assert "tick 0 at 0 us: " in text and "idle" in text and "busy  run alice/x = randn" in text and "move " in text
    events = json.loads(gpuemu.run("trace", "trace.json", "--format", "chrome").stdout)["traceEvents"]
    bars = [event for event in events if event["ph"] == "X"]
    assert len(bars) == sum(line["device"] is not None for line in trace["output_queue"])
    moves = trace["totals"]["moves"]
    assert moves > 0 and sum(event["ph"] == "s" for event in events) == moves == sum(event["ph"] == "f" for event in events)
    assert {event["args"]["name"] for event in events if event["name"] == "process_name"} == {"local"}
    assert gpuemu.run("trace", "trace.json", "--format", "html", "-o", "trace.html").returncode == 0
    page = Page((gpuemu.project / "trace.html").read_text())
    assert page.links == [] and page.tags.count("rect") >= len(bars) and "script" not in page.tags
    assert json.loads(gpuemu.run("trace", "trace.json", "--format", "json").stdout) == trace
    assert not (pathlib.Path(gpuemu.home) / ".gpuemu").exists()


@pytest.mark.parametrize("text, said", [
    ("[1", "this is not JSON"),
    ("{}", 'this is not a trace: expected "format": "gpuemu-trace"'),
    ('{"format": "gpuemu-trace", "version": 7}', "the trace has version 7, this gpuemu reads 1"),
    (None, "nothing.json"),
])
def test_a_file_that_is_no_trace_is_wrong_use(gpuemu, text, said):
    if text is not None:
        (gpuemu.project / "nothing.json").write_text(text)
    result = gpuemu.run("trace", "nothing.json")
    assert result.returncode == 2 and said in result.stderr


def test_a_tape_that_cannot_be_is_wrong_use(gpuemu):
    tape = {"input_tape": [{"id": "a", "op": "relu", "inputs": ["b"], "shape": [1]}]}
    assert "session default has not defined the input 'b' before" in plan(gpuemu, tape, status=2)
    assert "'fast'" in plan(gpuemu, tape, "--policy", "fast", status=2)
    assert gpuemu.run("trace").returncode == 2


def test_what_a_command_printed_is_drawn(tmp_path):
    tool, picture = [sys.executable, str(ROOT / "tools/terminal_picture.py")], tmp_path / "top.svg"
    drawn = subprocess.run([*tool, str(picture), "--command", "gpuemu top"], input="A  <B>\n\nC & D\n", capture_output=True, text=True)
    assert drawn.returncode == 0, drawn.stderr
    lines = [line.text for line in ElementTree.parse(picture).iter("{http://www.w3.org/2000/svg}text")]
    assert lines == ["$ gpuemu top", "A  <B>", "C & D"]
    refused = subprocess.run([*tool, str(picture)], input="\n", capture_output=True, text=True)
    assert refused.returncode == 1 and "nothing on standard input" in refused.stderr
