"""Shell completion of ops and kernels from gpuemu.toml, and of seeds and tags from a running daemon."""
import subprocess

import pytest

from conftest import BIN
from projects import SCALE_PTX, THREE, TWO, kernel_op


@pytest.fixture(scope="module")
def home(new_home):
    config = "[validation]\nseed = 1\n" + kernel_op("twice", "twice.ptx") + kernel_op("tripled", "tripled.ptx")
    return new_home({"gpuemu.toml": config, "twice.ptx": SCALE_PTX.replace("FACTOR", TWO), "tripled.ptx": SCALE_PTX.replace("FACTOR", THREE),
                     "ref_twice.py": "def reference(x):\n    return 2.0 * x\n"})


def words(home, kind):
    return home.run("completion", "--words", kind).stdout.split()


def completed(home, *typed):
    """The completions that bash offers for the last of these words."""
    script = subprocess.run([BIN / "gpuemu", "completion", "bash"], capture_output=True, text=True, check=True).stdout
    program = f"""{script}
COMP_WORDS=({" ".join(f"'{word}'" for word in typed)}); COMP_CWORD={len(typed) - 1}
_gpuemu; printf '%s\\n' "${{COMPREPLY[@]}}" """
    return subprocess.run(["bash", "-c", program], cwd=home.project, env=home.env, capture_output=True, text=True, check=True).stdout.split()


def test_names_come_from_the_project_and_no_daemon_is_started_for_them(home):
    assert words(home, "ops") == ["twice", "tripled"] and words(home, "kernels") == ["twice", "tripled"]
    assert words(home, "seeds") == [] and words(home, "tags") == []
    assert home.daemon_pid() is None
    for typed in (["test", "tri"], ["fuzz", "--op", "tri"], ["mutate", "tri"], ["coverage", "tri"], ["lint", "--kernel", "tri"]):
        assert completed(home, "gpuemu", *typed) == ["tripled"], typed


def test_seeds_and_tags_come_from_the_daemon_that_runs(home):
    assert home.run("test", "--cases", 3, "--seed", "1").returncode == 1
    assert home.run("baseline", "save", "before").returncode == 0
    seeds = words(home, "seeds")
    assert seeds[0] == "last" and set(seeds[1:]) == {line.split()[0] for line in home.run("failures").stdout.splitlines()}
    assert words(home, "tags") == ["before"]
    assert completed(home, "gpuemu", "reproduce", "la") == ["last"]
    assert set(completed(home, "gpuemu", "explain", seeds[1][:3])) == {seed for seed in seeds if seed.startswith(seeds[1][:3])}
    assert completed(home, "gpuemu", "diff", "--baseline", "be") == ["before"]
    assert completed(home, "gpuemu", "projects", "forget", "/") == [f"{home.project}/gpuemu.toml"]


def test_a_wrong_file_offers_nothing(home):
    config = home.project / "gpuemu.toml"
    text = config.read_text()
    config.write_text(text + "kernle = 1\n")
    assert words(home, "ops") == [] and completed(home, "gpuemu", "test", "tri") == []
    config.write_text(text)


def test_completion_without_a_shell_says_which_there_are(home):
    told = home.run("completion")
    assert told.returncode == 2 and "bash, zsh or fish" in told.stderr
