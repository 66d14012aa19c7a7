"""Several projects over one database: none sees the records of another, and migrating a database without projects
loses nothing."""
import json
import tarfile

from conftest import ROOT
from projects import SCALE_PTX, THREE, TWO, kernel_op

# Written by the last build without projects: 10 failures each of "ours" and "theirs", a baseline and metrics of each.
OLD_DATABASE = ROOT / "tests/e2e/databases/without_projects.tar.gz"
CASES = 10


def files(op, factor=THREE):
    return {"gpuemu.toml": f'[project]\nname = "{op}"\n' + kernel_op(op, "scale.ptx"),
            "scale.ptx": SCALE_PTX.replace("FACTOR", factor), "ref_twice.py": "def reference(x):\n    return 2.0 * x\n"}


def add(home, folder, made):
    """Creates another project of the same installation; returns its folder."""
    place = home.project.parent / folder
    place.mkdir()
    for name, text in made.items():
        (place / name).write_text(text)
    return place


def failures(home, folder=None):
    """Seeds of the stored failures in listing order."""
    if folder is not None:
        home.project = folder
    reply = json.loads(home.run("failures", "--limit", 100, "--format", "json").stdout)
    return [(one["op_name"], one["seed"]) for one in reply["results"]]


def test_an_op_of_the_same_name_in_another_project_is_another_op(new_home):
    home = new_home(files("twice"))
    first, second = home.project, add(home, "second", files("twice", TWO))
    assert home.run("test", "--cases", "3", "--seed", "1").returncode == 1
    found = failures(home)
    assert len(found) == 3
    assert home.run("baseline", "save", "v1").returncode == 0
    home.project = second
    assert failures(home) == []
    assert home.run("test", "--cases", "3", "--seed", "1").returncode == 0
    assert home.run("reproduce", found[0][1]).returncode == 2
    assert "v1" not in home.run("baseline", "list").stdout
    assert home.run("failures", "--delete", "--all").stdout == "deleted 0 failures\n"
    assert failures(home, first) == found
    assert "v1" in home.run("baseline", "list").stdout


def old_database(home):
    with tarfile.open(OLD_DATABASE) as packed:
        packed.extractall(home.home)
    home.env["GPUEMU_DB"] = str(home.home / "db")


def test_a_database_of_before_is_divided_by_the_names_of_the_project(new_home):
    home = new_home(files("ours"))
    old_database(home)
    found = failures(home)
    assert len(found) == CASES and {op for op, _ in found} == {"ours"}
    assert home.run("reproduce", found[0][1]).returncode == 0
    baselines = home.run("baseline", "list").stdout
    assert "of-ours" in baselines and "of-theirs" not in baselines, baselines
    assert "ours" in home.run("artifacts").stdout and "theirs" not in home.run("artifacts").stdout
    kept = home.home / "db.schema1"
    assert str(kept) in home.run("daemon", "logs").stdout
    assert (kept / "CURRENT").is_file()
    # The other project claims its records when its daemon starts.
    other = failures(home, add(home, "other", files("theirs")))
    assert len(other) == CASES and {op for op, _ in other} == {"theirs"}
    assert home.run("reproduce", other[0][1]).returncode == 0
    assert "of-theirs" in home.run("baseline", "list").stdout
