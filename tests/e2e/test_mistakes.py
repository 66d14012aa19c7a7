"""Compares the answers to typical mistakes with tests/golden/mistakes. Each answer says what is wrong, where, and what to do.

GPUEMU_GOLDEN_UPDATE=1 writes them anew.
"""
import os
import re
import shutil
import subprocess

import pytest

from conftest import BIN, ROOT
from mistakes import CONFIG, GROUPS, RIGHT

GOLDEN = ROOT / "tests/golden/mistakes"
EACH = [(group, name) for group, mistakes in GROUPS.items() for name in mistakes]
# Phrases that say what to do or what to choose from.
NEXT = re.compile(r"did you mean|expected|none of|not one of|there are|known are|defined:|`gpuemu |'gpuemu "
                  r"|it has|source has|at most|\bwrite\b|\bgive\b|\bneeds\b|--help|--force|\bset\b|\binstall\b"
                  r"|\badd\b|\bcorrect\b|\bkeep\b|\bchoose\b|create it|name a|missing|takes \.|\bcompare\b|is written", re.I)
# Messages that a compiler, Python or the emulator words itself.
OWN_WORDS = {"undefined name", "host code in the kernel", "limit forgotten", "output never written", "raises",
             "package that is not installed", "daemon stopped twice"}


@pytest.fixture(scope="module")
def home(new_home):
    return new_home(RIGHT)


@pytest.fixture(scope="module")
def golden():
    """The recorded answers by group and name. Writes the current answers at the end if the run is to update them."""
    answers = {}
    if os.environ.get("GPUEMU_GOLDEN_UPDATE"):
        yield answers
        for group, mistakes in GROUPS.items():
            said = [f"## {name}\n{answers[group, name]}" for name in mistakes if (group, name) in answers]
            if len(said) == len(mistakes):
                (GOLDEN / f"{group}.txt").write_text("\n".join(said))
        return
    for group in GROUPS:
        for section in re.split(r"^## ", (GOLDEN / f"{group}.txt").read_text(), flags=re.M)[1:]:
            name, _, text = section.partition("\n")
            answers[group, name] = text
    yield answers


def lay_out(folder, mistake):
    """Creates the project with this mistake, always in the same folder, so that one daemon serves all."""
    for entry in folder.iterdir():
        shutil.rmtree(entry) if entry.is_dir() else entry.unlink()
    files = {**RIGHT, "gpuemu.toml": CONFIG.replace(*mistake.swap, 1) if mistake.swap[0] else CONFIG, **mistake.files}
    for name, content in files.items():
        if content is None:
            (folder / name).mkdir()
        elif content != b"remove":
            (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())


def answer(home, mistake):
    """The text that a user sees, and the exit code."""
    lay_out(home.project, mistake)
    env = {name: value.format(project=home.project, home=home.home) for name, value in mistake.env.items()}
    run = subprocess.run([str(BIN / "gpuemu"), *mistake.words.split()], cwd=home.project, env={**home.env, **env}, timeout=300,
                         stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if "GPUEMU_SOCKET" in env and run.returncode != 2:
        home.run("daemon", "stop", env=env)
    return steady(run.stdout.decode(), home), run.returncode


def steady(text, home):
    """Replaces text that differs between runs or machines."""
    text = text.replace(str(home.project), "PROJECT").replace(str(home.home), "HOME").replace(str(ROOT), "ROOT")
    changing = {r"(output|reference) is \[[\d, ]+\]": r"\1 is [SHAPE]", r"emulator \([\w-]+\)": "emulator (ISA)", r"\b[\d.]+ s\b": "T s",
                r"\d+ cases/s": "N cases/s", r"\(process \d+\)": "(process N)", r"\bprocess \d+\b": "process N",
                r"gpuemu v?\d+\.\d+\.\d+": "gpuemu VERSION", r"[\d-]+T?[\d:.]+Z? \[": "[", r"/\S*/bin/python3[\d.]*": "PYTHON"}
    for pattern, word in changing.items():
        text = re.sub(pattern, word, text)
    return "\n".join(line.rstrip() for line in text.splitlines()) + "\n"


@pytest.mark.parametrize("group, name", EACH, ids=[f"{group}: {name}" for group, name in EACH])
def test_a_mistake_is_answered_with_what_is_wrong_where_and_what_to_do(home, golden, group, name):
    mistake = GROUPS[group][name]
    text, code = answer(home, mistake)
    said = f"$ gpuemu {mistake.words}\n{text}exit {code}\n"
    if os.environ.get("GPUEMU_GOLDEN_UPDATE"):
        golden[group, name] = said
    assert code == mistake.code, said
    assert mistake.where in text, said
    assert name in OWN_WORDS or NEXT.search(text), said
    assert not re.search(r"Traceback \(most recent.*gpuemu/|std::|terminate called|0x[0-9a-f]{8}", text), said
    assert said.strip() == golden[group, name].strip(), f"{GOLDEN}/{group}.txt; GPUEMU_GOLDEN_UPDATE=1 writes it anew\n{said}"


def test_the_project_without_a_mistake_passes(home):
    for name, content in RIGHT.items():
        (home.project / name).write_text(content)
    run = home.run("test")
    assert run.returncode == 0, run.stdout + run.stderr
