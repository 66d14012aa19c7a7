"""Shell completion of ops and kernels from gpuemu.toml, and of seeds and tags from a running daemon."""
import os
import pathlib
import pty
import select
import shutil
import subprocess
import time

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
    assert completed(home, "gpuemu", "test", "--config", "tw") == ["twice.ptx"]
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


# Prints each word that zsh would offer, instead of drawing it. -O, -A and -D fill arrays and offer nothing.
ZSH = """PS1='' PS2='' RPS1=''; unsetopt zle_bracketed_paste prompt_sp 2>/dev/null; autoload -Uz compinit; compinit -u -D
source {script}
compadd() {{
  if [[ " $* " == *" -"[OAD]" "* ]]; then builtin compadd "$@"; return; fi
  local -a hits; builtin compadd -A hits "$@"; print -r -- "OFFERS ${{(j: :)hits}}" >>{offers}
}}
show-words() {{ zle complete-word; print -r -- DONE >>{offers} }}
zle -N show-words; zle -C complete-word complete-word _main_complete; bindkey '^X' show-words; print -r -- READY >>{offers}
"""


def wait_for(file, mark, terminal):
    """Until the shell writes `mark` into `file`; what it draws meanwhile is read and dropped."""
    end = time.monotonic() + 60
    while mark not in (text := file.read_text() if file.exists() else ""):
        assert time.monotonic() < end, text
        if select.select([terminal], [], [], 0.05)[0]:
            os.read(terminal, 1 << 16)
    return text


def offered_by_zsh(home, folder, *lines):
    """For each line, the words that an interactive zsh offers where the line ends."""
    script, start, offers = folder / "gpuemu.zsh", folder / "start.zsh", folder / "offers"
    script.write_text(subprocess.run([BIN / "gpuemu", "completion", "zsh"], capture_output=True, text=True, check=True).stdout)
    start.write_text(ZSH.format(script=script, offers=offers))
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(home.project)
        os.execvpe("zsh", ["zsh", "-f", "-i"], {**home.env, "TERM": "xterm", "ZDOTDIR": str(folder)})
    try:
        os.write(terminal, f" source {start}\r".encode())
        wait_for(offers, "READY", terminal)
        words = []
        for line in lines:
            offers.write_text("")
            os.write(terminal, f"\x15{line}\x18".encode())  # ^U empties the line, ^X completes.
            text = wait_for(offers, "DONE", terminal)
            words.append([word for said in text.splitlines() if said.startswith("OFFERS") for word in said.split()[1:]])
        return words
    finally:
        os.kill(pid, 9)
        os.waitpid(pid, 0)
        os.close(terminal)


def offered_by_fish(home, folder, *lines):
    script = folder / "gpuemu.fish"
    script.write_text(subprocess.run([BIN / "gpuemu", "completion", "fish"], capture_output=True, text=True, check=True).stdout)
    words = []
    for line in lines:
        run = subprocess.run(["fish", "--no-config", "-c", f"source {script}; complete -C '{line}'"], cwd=home.project,
                             env={**home.env, "TERM": "xterm"}, capture_output=True, text=True, check=True)
        assert run.stderr == ""
        words.append([said.split("\t")[0] for said in run.stdout.splitlines()])
    return words


SHELLS = {"zsh": offered_by_zsh, "fish": offered_by_fish}


@pytest.mark.parametrize("shell", SHELLS)
def test_other_shells_offer_the_same_words(home, tmp_path, shell):
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    assert home.run("test", "--cases", 3, "--seed", "1").returncode == 1
    assert home.run("baseline", "save", "before").returncode == 0
    lines = ["gpuemu te", "gpuemu test tri", "gpuemu fuzz --op tri", "gpuemu test --qui", "gpuemu ci --format sa",
             "gpuemu reproduce la", "gpuemu diff --baseline be", "gpuemu baseline sa", "gpuemu completion f", "gpuemu test --config tw"]
    assert SHELLS[shell](home, pathlib.Path(tmp_path), *lines) == [
        ["test"], ["tripled"], ["tripled"], ["--quick"], ["sarif"], ["last"], ["before"], ["save"], ["fish"], ["twice.ptx"]]
