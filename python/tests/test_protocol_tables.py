"""Tests that the output of tools/make_protocol.py is checked in, and that an error in a table is reported with its place."""

import pathlib
import shutil
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PLACES = ("common/protocol", "common/codec", "python/gpuemu/client", "docs/reference", "tools/protocol", "vscode-extension/src/core")


@pytest.fixture
def copy(tmp_path):
    """Copies the tables and their output to a folder where a test may change them."""
    for place in PLACES:
        shutil.copytree(ROOT / place, tmp_path / place)
    shutil.copy(ROOT / "tools/make_protocol.py", tmp_path / "tools")
    return tmp_path


def make(root, *arguments):
    return subprocess.run([sys.executable, root / "tools/make_protocol.py", *arguments], capture_output=True, text=True)


def change(root, table, old, new):
    path = root / "common/protocol/tables" / table
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))


def test_what_is_made_is_checked_in():
    done = make(ROOT, "--check")
    assert done.returncode == 0, done.stdout


def test_a_new_request_changes_every_file_that_tells_of_it_and_nothing_by_hand(copy):
    change(copy, "requests.def", "request ListBaselines", "request Sing -> Ok  job  capability=sing\n  | Sings.\n  song  text  required | Which.\n"
           "  verses  u64  extra  = 2 max=kIterationsMax\n\nrequest ListBaselines")  # fmt: skip
    change(copy, "requests.def", "capability prove", "capability sing | Sing\ncapability prove")
    stale = make(copy, "--check")
    assert stale.returncode == 1 and "requests.gen.h: differs from the tables; run tools/make_protocol.py" in stale.stdout
    assert make(copy).returncode == 0 and make(copy, "--check").returncode == 0
    structs = (copy / "common/protocol/requests.gen.h").read_text()
    for line in ("struct SingRequest {", "  std::string song;  ///< Which.", "  uint64_t verses = 2;", "  bool stream = false;"):
        assert line in structs, line
    together = (copy / "common/protocol/any_request.gen.h").read_text()
    assert '  X(Sing, Ok, Job, "sing", Project, false) \\' in together
    assert structs.count("SingRequest") == 2 and together.count("SingRequest") == 1
    fields = (copy / "common/codec/fields_requests.gen.h").read_text()
    assert '  v.extra("verses", r.verses);\n  v.at_most("verses", r.verses, kIterationsMax);\n  v.extra("stream", r.stream);' in fields
    assert "| `Sing` | `song` | `verses` | `Ok` | Sings. May be a job. |" in (copy / "docs/reference/protocol.md").read_text()


def test_a_new_kind_of_finding_is_a_row_and_the_editor_shows_it(copy):
    change(copy, "findings.def", "GPUEMU_FINDING(NaNDetected", 'GPUEMU_FINDING(ZeroSign, "", "A zero of the wrong sign.",\n'
           '               Tolerance, None, Warning,\n               "gives a zero of the wrong sign",\n'
           '               "keep the sign")\nGPUEMU_FINDING(NaNDetected')  # fmt: skip
    assert make(copy).returncode == 0
    shown = (copy / "vscode-extension/src/core/kinds.gen.ts").read_text()
    assert "  ZeroSign: { severity: 'warning', phrase: 'gives a zero of the wrong sign', tolerance: true },\n" in shown
    assert "ZeroSign" in (copy / "common/protocol/records.gen.h").read_text()


@pytest.mark.parametrize(("old", "new", "said"), [
    ("request Ping -> Pong  quick", "request Ping -> Pong  soon", "is no item"),
    ("request Ping -> Pong", "request Ping -> Gnop", "request Ping: there is no reply Gnop"),
    ("capability=prove", "capability=proved", "request Prove: there is no capability proved"),
    ("  limit    u64   required", "  limit    u65   required", "request ListResults: member 'limit' has the unknown type 'u65'"),
    ("  limit    u64   required", "  limit    u64   needed", "member 'limit': unknown presence 'needed', expected one of required,"),
    ("  limit    u64   required", "  limit  required", "'limit  required  = 100' is no row here; a member is: name type presence"),
    ("max=kBatchCasesMax", "most=kBatchCasesMax", "member 'count': unknown option 'most', expected one of as,"),
    ("request Shutdown ->", "request Ping ->", "PingRequest is declared twice"),
])  # fmt: skip
def test_a_wrong_table_is_refused_with_its_place(copy, old, new, said):
    change(copy, "requests.def", old, new)
    done = make(copy)
    assert done.returncode == 1 and said in done.stderr and "requests.def" in done.stderr, done.stderr
