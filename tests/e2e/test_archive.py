"""`gpuemu ci --archive` and `gpuemu open`: a failing run, shown and run again where nothing is known of it."""
import base64
import gzip
import json
import os
import re
import shutil

import pytest

from conftest import ROOT
from test_ci import project


@pytest.fixture(scope="module")
def left(new_home):
    """The archive of a run of examples/ with its planted faults; the project that it came from is gone."""
    home = new_home({})
    shutil.copytree(ROOT / "examples", home.project, dirs_exist_ok=True)
    run = home.run("ci", "--quick", "--archive", "failed.gpuemu", "--format", "json")
    assert run.returncode == 1, run.stderr
    assert "wrote failed.gpuemu: `gpuemu open failed.gpuemu`" in run.stderr
    archive = (home.project / "failed.gpuemu").read_bytes()
    shutil.rmtree(home.project)
    home.project.mkdir()
    return archive, json.loads(run.stdout)


@pytest.fixture
def elsewhere(new_home):
    """Another machine, as far as gpuemu can tell: another home, folder and database."""
    return new_home({})


def test_another_machine_shows_the_run_and_gets_the_same_verdicts(left, elsewhere):
    archive, summary = left
    (elsewhere.project / "failed.gpuemu").write_bytes(archive)
    opened = elsewhere.run("open", "failed.gpuemu")
    assert opened.returncode == 0, opened.stdout + opened.stderr
    cases = sum(op["failed"] for op in summary["ops"])
    assert f"replayed: {cases} of {cases} failing cases have the same verdict here" in opened.stdout
    for line in (r"\[OutOfBounds\] scale_missing_tail_mask: \d+ of 10 cases; reads 4 bytes", r"\[DataRace\] reduce_missing_sync",
                 r"report:  failed/report.html", r"project: failed/project \(\d+ files\)"):
        assert re.search(line, opened.stdout), (line, opened.stdout)
    folder = elsewhere.project / "failed"
    assert "<strong>Error of" in (folder / "report.html").read_text()
    for name in ("gpuemu.toml", "kernels/block_reduce.cuh", "references/gelu.py"):
        assert (folder / "project" / name).read_bytes() == (ROOT / "examples" / name).read_bytes()
    one = json.loads(next((folder / "cases").glob("*.json")).read_text())
    assert one["inputs"] and one["ptx"] and one["launches"] and one["profile"]
    assert json.loads((folder / "run.json").read_text())["failed"] == summary["failed"]
    assert not elsewhere.socket.exists() and not (elsewhere.home / "db").exists(), "it has a daemon and a database of its own"
    assert elsewhere.run("failures").stdout.count("seed:") == 0


def test_a_verdict_that_differs_is_told(left, elsewhere):
    whole = json.loads(gzip.decompress(left[0]))
    source = base64.b64decode(whole["files"]["kernels/scale_missing_tail_mask.cu"]).decode()
    fixed = source.replace("y[i] = ", "if (i < n) y[i] = ")
    assert fixed != source
    whole["files"]["kernels/scale_missing_tail_mask.cu"] = base64.b64encode(fixed.encode()).decode()
    (elsewhere.project / "a.gz").write_bytes(gzip.compress(json.dumps(whole).encode()))
    opened = elsewhere.run("open", "a.gz", "-o", "shown")
    assert opened.returncode == 1, opened.stdout + opened.stderr
    assert re.search(r"\[differs\] scale_missing_tail_mask float32 seed \d+: .*OutOfBounds.* there, passes here", opened.stdout), opened.stdout
    assert "with --strict or --max-elements" in opened.stdout


def test_without_a_replay_nothing_of_the_sender_runs(left, elsewhere):
    whole = json.loads(gzip.decompress(left[0]))
    spoiled = f"open({str(elsewhere.home / 'ran')!r}, 'w')\n"
    for name in whole["files"]:
        if name.endswith(".py"):
            whole["files"][name] = base64.b64encode(spoiled.encode()).decode()
    (elsewhere.project / "a.gpuemu").write_bytes(gzip.compress(json.dumps(whole).encode()))
    opened = elsewhere.run("open", "a.gpuemu", "--no-replay")
    assert opened.returncode == 0 and "replayed" not in opened.stdout and "report:" in opened.stdout
    assert not (elsewhere.home / "ran").exists()
    again = elsewhere.run("open", "a.gpuemu", "--no-replay")
    assert again.returncode == 2 and "a exists; nothing was written" in again.stderr


def changed(whole, **members):
    return gzip.compress(json.dumps({**whole, **members}).encode())


def test_damaged_and_hostile_archives_are_refused_and_write_nothing(left, elsewhere):
    archive, _ = left
    whole = json.loads(gzip.decompress(archive))
    flipped = bytearray(archive)
    flipped[len(flipped) // 2] ^= 1
    escape = {**whole["files"], "../../escaped": "AAAA"}
    bad = {
        "empty": (b"", "ends early"),
        "cut": (archive[:-9], "ends early"),
        "flipped": (bytes(flipped), "damaged"),
        "longer": (archive + b"more", "follow where it should end"),
        "text": (b"no archive at all", "damaged"),
        "other": (gzip.compress(b'{"a": 1}'), "not an archive of"),
        "newer": (changed(whole, gpuemu_archive=2), "format 2"),
        "escape": (changed(whole, files=escape), "would lead out of"),
        "absolute": (changed(whole, files={**whole["files"], "/tmp/escaped": "AAAA"}), "would lead out of"),
        "hidden": (changed(whole, files={**whole["files"], ".git/hooks/post-checkout": "AAAA"}), "would lead out of"),
        "both": (changed(whole, files={**whole["files"], "kernels": "AAAA"}), "folder of another"),
        "config": (changed(whole, config="other.toml"), "project file 'other.toml'"),
        "record": (changed(whole, cases=[{"type": "Pong"}]), "'cases' is not what gpuemu writes"),
        "deep": (gzip.compress(b'{"gpuemu_archive":1,"run":' + b"[" * 2_000_000), "nests deeper"),
        "bomb": (gzip.compress(b'{"gpuemu_archive":1,"page":"' + bytes(600 << 20), 1), "more than 512 MiB"),
    }
    for name, (content, why) in bad.items():
        (elsewhere.project / f"{name}.gpuemu").write_bytes(content)
        before = sorted(one.name for one in elsewhere.project.rglob("*"))
        opened = elsewhere.run("open", f"{name}.gpuemu")
        assert opened.returncode == 2, (name, opened.stdout, opened.stderr)
        assert f"{name}.gpuemu cannot be opened" in opened.stderr and why in opened.stderr, (name, opened.stderr)
        assert sorted(one.name for one in elsewhere.project.rglob("*")) == before, name
    assert elsewhere.run("open", "missing.gpuemu").returncode == 2
    (elsewhere.project / "taken").symlink_to(elsewhere.home)
    (elsewhere.project / "taken.gpuemu").write_bytes(archive)
    opened = elsewhere.run("open", "taken.gpuemu")
    assert opened.returncode == 2 and "taken exists" in opened.stderr


def test_a_run_without_a_failure_leaves_none_and_says_so(new_home):
    home = new_home(project(cases=2))
    run = home.run("ci", "--quick", "--archive", "a.gpuemu")
    assert run.returncode == 0 and "a.gpuemu was not written: nothing failed" in run.stderr
    assert not (home.project / "a.gpuemu").exists()
    missing = home.run("ci", "--quick", "--archive", "nowhere/a.gpuemu")
    assert missing.returncode == 3 and "folder" in missing.stderr and "does not exist" in missing.stderr


def test_files_outside_of_the_project_run_where_there_are_none(new_home, elsewhere, tmp_path):
    files = project(wrong=True, cases=2)
    lies = tmp_path / "kernels" / "deep"
    lies.mkdir(parents=True)
    (lies / "numbers_of.py").write_text("factor = 2.0\n")
    reference = lies / "ref_twice.py"
    reference.write_text("from numbers_of import factor\n" + files.pop("ref_twice.py").replace("2.0", "factor"))
    home = new_home(files)
    beside = home.project.parent / "beside" / "other.ptx"
    beside.parent.mkdir()
    (home.project / "other.ptx").rename(beside)
    files["gpuemu.toml"] = files["gpuemu.toml"].replace('"ref_twice.py"', f'"{reference}"', 1).replace('"other.ptx"', '"../beside/other.ptx"')
    up = os.path.relpath(reference, home.project)
    (home.project / "gpuemu.toml").write_text(files["gpuemu.toml"].replace('"ref_twice.py"', f'"{up}"'))
    run = home.run("ci", "--quick", "--archive", "a.gpuemu")
    assert run.returncode == 1 and "not in the archive" not in run.stderr, run.stderr
    archive = (home.project / "a.gpuemu").read_bytes()
    shutil.rmtree(lies.parent)
    shutil.rmtree(beside.parent)
    (elsewhere.project / "a.gpuemu").write_bytes(archive)
    opened = elsewhere.run("open", "a.gpuemu", "--format", "json")
    assert opened.returncode == 0, opened.stdout + opened.stderr
    document = json.loads(opened.stdout)
    assert document["replay"]["same"] == document["replay"]["cases"] == document["failed"] > 0
    assert document["left_out"] == [] and document["replay"]["differing"] == []
    for name in ("report", "run", "project"):
        assert (elsewhere.project / document[name]).is_file(), name
    assert {one["op_name"] for one in document["failing"]} == {"other"}
    assert document["failing"][0]["failures"][0]["kind"] == "ToleranceExceeded"


def test_what_the_project_needs_and_the_archive_lacks_is_named(new_home, tmp_path):
    files = project(wrong=True, cases=2)
    hidden = tmp_path / ".refs"
    hidden.mkdir()
    reference = hidden / "ref_twice.py"
    reference.write_text(files.pop("ref_twice.py"))
    files["gpuemu.toml"] = files["gpuemu.toml"].replace('"ref_twice.py"', f'"{reference}"')
    home = new_home(files)
    run = home.run("ci", "--quick", "--archive", "a.gpuemu")
    assert run.returncode == 1 and f"{reference} is not in the archive" in run.stderr, run.stderr
    opened = home.run("open", "a.gpuemu", "--no-replay")
    assert f"note: not in the archive: {reference}" in opened.stdout
    assert f"needs {reference}: it is not in the archive" in (home.project / "a/report.html").read_text()
    shown = home.run("open", "a.gpuemu", "--no-replay", "-o", "b", "--format", "json")
    assert shown.returncode == 0, shown.stderr
    document = json.loads(shown.stdout)
    assert document["left_out"] == [str(reference)] and document["replay"] is None


def test_json_says_what_differs_and_what_is_wrong_in_one_document(left, elsewhere):
    whole = json.loads(gzip.decompress(left[0]))
    source = base64.b64decode(whole["files"]["kernels/scale_missing_tail_mask.cu"]).decode()
    whole["files"]["kernels/scale_missing_tail_mask.cu"] = base64.b64encode(source.replace("y[i] = ", "if (i < n) y[i] = ").encode()).decode()
    (elsewhere.project / "a.gz").write_bytes(gzip.compress(json.dumps(whole).encode()))
    opened = elsewhere.run("open", "a.gz", "--format", "json")
    assert opened.returncode == 1, opened.stdout + opened.stderr
    differing = json.loads(opened.stdout)["replay"]["differing"]
    assert {one["op_name"] for one in differing} == {"scale_missing_tail_mask"}
    assert all("OutOfBounds" in one["there"] and one["here"] == [] and one["seed_text"] == str(one["seed"]) for one in differing)
    missing = elsewhere.run("open", "nothing.gpuemu", "--format", "json")
    assert missing.returncode == 2 and "nothing.gpuemu" in json.loads(missing.stdout)["message"], missing.stdout
