"""Several projects over one daemon and one database: none sees the records of another, and migrating a database without
projects loses nothing."""
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


def known(home):
    """The projects that the daemon lists, by name, and the id of the default."""
    reply = json.loads(home.run("projects", "--format", "json").stdout)
    assert reply["type"] == "Projects"
    return {one["name"]: one for one in reply["projects"]}, reply["default"]


def test_one_daemon_serves_all_projects_and_each_by_its_own_file(new_home):
    home = new_home(files("twice"))
    first, second = home.project, add(home, "second", files("twice", TWO))
    assert home.run("test", "--cases", "2", "--seed", "1").returncode == 1
    pid = home.daemon_pid()
    home.project = second
    run = home.run("test", "--cases", "2", "--seed", "1")
    assert run.returncode == 0 and run.stderr == "", run.stderr
    assert home.daemon_pid() == pid
    status = home.ask("DaemonStatus")
    assert status["config_path"] == str(first / "gpuemu.toml") and status["projects"] == 2
    # A request without a project is the first one's, as that of a published client.
    assert len(home.ask("ListFailures", limit=9)["results"]) == 2
    link = second.parent / "link.toml"
    link.symlink_to(second / "gpuemu.toml")
    for named in (second / "gpuemu.toml", link):
        assert home.ask("ListFailures", limit=9, project=str(named))["results"] == []
    for wrong in ("/nowhere/gpuemu.toml", "0123456789abcdef", str(second)):
        reply = home.ask("ListFailures", limit=9, project=wrong)
        assert reply["code"] == "ProjectNotFound" and wrong in reply["message"], reply


def test_a_command_is_served_while_another_project_works_and_whatever_its_settings(new_home):
    slow = {**files("slow"), "ref_twice.py": "import time\ndef reference(x):\n    time.sleep(0.2)\n    return 2.0 * x\n"}
    home = new_home(slow)
    home.start()
    job = home.ask("RunTests", cases=10_000, stream=True)["job_id"]
    made = files("twice", TWO)
    home.project = add(home, "other", {**made, "gpuemu.toml": "[runtime]\nworkers = 1\n" + made["gpuemu.toml"]})
    assert home.run("test", "--cases", "2").returncode == 0
    (home.project / "gpuemu.toml").write_text("[runtime]\nworkers = 2\n" + made["gpuemu.toml"])
    run = home.run("test", "--cases", "2", "--seed", "1")
    assert run.returncode == 0 and "restarted" not in run.stderr, run.stderr
    assert home.ask("JobStatus", job_id=job)["state"] == "running"
    home.ask("JobCancel", job_id=job)


def test_a_wrong_file_of_one_project_hinders_no_other(new_home):
    home = new_home(files("twice", TWO))
    home.start()
    broken = add(home, "broken", {"gpuemu.toml": "[[ops]]\nname = 3\n"})
    reply = home.ask("RunTests", cases=1, project=str(broken / "gpuemu.toml"))
    assert reply["code"] == "ConfigError" and "gpuemu.toml:2" in reply["message"], reply
    assert home.run("test", "--cases", "2").returncode == 0


def test_an_op_that_the_default_project_lacks_is_named_with_the_projects_that_have_it(new_home):
    home = new_home(files("ours", TWO))
    home.start()
    theirs = add(home, "theirs", files("theirs", TWO))
    home.project = theirs
    assert home.run("test", "--cases", "1").returncode == 0
    reply = home.ask("RunTests", ops=["theirs"], cases=1)
    assert reply["code"] == "OpNotFound" and str(theirs / "gpuemu.toml") in reply["message"], reply


def test_starting_a_daemon_in_another_project_makes_that_the_default(new_home):
    home = new_home(files("ours"))
    first, pid = home.project, home.start()
    home.project = add(home, "theirs", files("theirs"))
    for options in (["--background"], []):
        run = home.run("daemon", "start", *options)
        assert run.returncode == 0 and f"{home.project}/gpuemu.toml now; it was {first}/gpuemu.toml" in run.stdout, run
        assert home.ask("DaemonStatus")["config_path"] == str(home.project / "gpuemu.toml")
        home.project, first = first, home.project
    assert home.daemon_pid() == pid


def test_projects_are_listed_moved_and_forgotten(new_home):
    home = new_home(files("ours"))
    assert home.run("test", "--cases", "3", "--seed", "1").returncode == 1
    home.project = add(home, "theirs", files("theirs"))
    assert home.run("test", "--cases", "2", "--seed", "1").returncode == 1
    projects, default = known(home)
    assert {name: (one["ops"], one["results"], one["failures"]) for name, one in projects.items()} == {
        "ours": (1, 3, 3), "theirs": (1, 2, 2)}
    assert default == projects["ours"]["id"] and projects["theirs"]["open"] and projects["theirs"]["last_used"] > 0
    assert "theirs" in home.run("projects").stdout
    moved = home.project.rename(home.project.parent / "moved")
    old, home.project = home.project, moved
    assert failures(home) == []
    run = home.run("projects", "move", old / "gpuemu.toml", moved)
    assert run.returncode == 0, run.stderr
    assert len(failures(home)) == 2
    # Named by the folder, which is gone.
    home.project = moved.rename(moved.parent / "moved again")
    run = home.run("projects", "move", moved, home.project)
    assert run.returncode == 0, run.stderr
    assert len(failures(home)) == 2
    assert home.run("reproduce", "last").returncode == 0
    assert home.run("projects", "forget", "theirs").returncode == 2
    assert home.run("projects", "forget", "nobody", "--yes").returncode == 2
    assert home.run("projects", "forget", home.project, "--yes").returncode == 0
    assert failures(home) == []
    assert len(failures(home, home.project.parent / "project")) == 3


def test_what_belongs_to_no_project_is_claimed_by_the_one_whose_ops_it_is_of(new_home):
    home = new_home(files("ours"))
    old_database(home)
    assert len(failures(home)) == CASES
    home.project = add(home, "theirs", files("theirs"))
    # Whoever names the project first is told, be it `status`; a request for the default project tells nobody.
    home.ask("SetDefaultProject", project=str(home.project / "gpuemu.toml"))
    assert home.ask("DaemonStatus").get("notes", []) == []
    run = home.run("status")
    assert run.stderr.startswith(f"note: {CASES} results and {CASES} failures of theirs were stored before"), run.stderr
    assert "note" not in home.run("failures").stderr
    counted = home.run("storage", "claim", "--dry-run")
    assert f"would take: {CASES} results, {CASES} failures, 1 baseline" in counted.stdout, counted
    assert failures(home) == []
    assert home.run("storage", "claim", "--op", "nobody").returncode == 0 and failures(home) == []
    assert home.run("storage", "claim").stdout.startswith("taken")
    found = failures(home)
    assert len(found) == CASES
    assert home.run("reproduce", found[0][1]).returncode == 0
    assert "of-theirs" in home.run("baseline", "list").stdout
