"""The pages say what is so: every command block is run, every link resolves, every table matches the program."""
import json
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

from conftest import BIN, ROOT, Gpuemu
from pages import blocks_of, exchanges, missing_line, unlike

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")), *sorted((ROOT / "examples").rglob("*.md"))]
TRACKED = subprocess.run(["git", "ls-files", "*.md"], cwd=ROOT, text=True, capture_output=True).stdout.split()
LINKING = sorted({*PAGES, *(ROOT / name for name in TRACKED if (ROOT / name).exists())})
RUN = {"sh", "console", "wire"}
SECONDS = 120  # Of one block; a page that hangs must not hang the tests.


def name_of(page):
    return str(page.relative_to(ROOT))


def runs(page):
    return any(block.language in RUN and "skip" not in block.directives for block in blocks_of(page))


@pytest.fixture
def reader(tmp_path_factory, compiled):
    """Somebody who has just installed gpuemu and cloned the repository, in the same place for every page."""
    folder = tmp_path_factory.getbasetemp() / "reader"
    shutil.rmtree(folder, ignore_errors=True)
    home, place = folder / "home", folder / "w"
    home.mkdir(parents=True)
    place.mkdir()
    for folder in ("examples", "python", "reference_scripts"):
        shutil.copytree(ROOT / folder, place / folder, ignore=shutil.ignore_patterns("__pycache__"))
    (home / "db.cache").symlink_to(compiled)
    instance = Gpuemu(home, place)
    # The reader's python3 is the one that runs this: it has what the pages ask to install.
    (home / "bin").mkdir()
    (home / "bin" / "python3").write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    (home / "bin" / "python3").chmod(0o755)
    instance.env["PATH"] = f"{home / 'bin'}:{instance.env['PATH']}"
    yield instance
    instance.stop()


class Shell:
    """Runs one block after the other and stays where `cd` went."""

    def __init__(self, reader):
        self.reader, self.folder = reader, reader.project
        self.there = reader.home / "where"

    def run(self, command):
        script = f"trap 'pwd >{self.there}' EXIT\n{command}\n"
        done = subprocess.run(["bash", "-e", "-o", "pipefail", "-c", script], cwd=self.folder,
                              env=self.reader.env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, timeout=SECONDS)
        self.folder = pathlib.Path(self.there.read_text().strip())
        return done

    def block(self, block):
        if "folder" in block.directives:
            self.folder = self.reader.project / block.directives["folder"]
            self.folder.mkdir()
        if "file" in block.directives:
            path = self.folder / block.directives["file"]
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(block.text)
        elif "skip" in block.directives or block.language not in RUN:
            return
        elif block.language == "wire":
            self.talk(block)
        elif block.language == "sh":
            self.expect(block, block.text, [], block.exits(1)[0])
        else:
            commands = block.commands()
            for (command, shown), status in zip(commands, block.exits(len(commands))):
                self.expect(block, command, shown, status)

    def talk(self, block):
        self.reader.project = self.folder
        if not self.reader.daemon_pid():
            self.reader.start()
        for request, shown in exchanges(block.text):
            reply = self.reader.ask(request)
            found = unlike(shown, reply)
            assert not found, f"{block.where}: {request}\nis answered with {reply}: {found}"

    def expect(self, block, command, shown, status):
        done = self.run(command)
        assert done.returncode == status, f"{block.where}: {command}\nended with {done.returncode}:\n{done.stdout}"
        line = missing_line(shown, done.stdout)
        assert line is None, f"{block.where}: {command}\ndoes not print\n{line}\nbut\n{done.stdout}"


@pytest.mark.parametrize("page", [page for page in PAGES if runs(page)], ids=name_of)
def test_every_command_block_does_what_the_page_says(page, reader):
    shell = Shell(reader)
    for block in blocks_of(page):
        shell.block(block)


def test_a_transcript_that_is_not_so_is_noticed():
    output = "[PASS] a float32 64 cases, 12 cases/s\n1 ok, 0 bad\nseed 1\n"
    assert missing_line(["[PASS] a float32 64 cases, 900 cases/s", "...", "seed 1"], output) is None
    assert missing_line(["1 ... bad"], output) is None
    assert missing_line(["[PASS] a float32 65 cases, 12 cases/s"], output) is not None
    assert missing_line(["seed 1", "1 ok, 0 bad"], output) == "1 ok, 0 bad"
    assert missing_line(["1 ok"], output) == "1 ok"


def test_a_reply_that_is_not_so_is_noticed():
    reply = {"type": "A", "timestamp": 5, "list": [1, 2], "more": None}
    assert not unlike({"type": "A", "timestamp": 9, "list": [1, "..."]}, reply)
    assert unlike({"timestamp": "9"}, reply) and unlike({"list": [1]}, reply) and unlike({"less": 1}, reply)
    assert unlike({"list": [1, 3]}, reply) and unlike({"more": 0}, reply)


def anchors(page):
    text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.S | re.M)
    titles = re.findall(r"^#+ (.*)$", text, flags=re.M)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("page", LINKING, ids=name_of)
def test_links_and_named_files_exist(page):
    text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.S | re.M)
    for target in re.findall(r"\]\(([^)\s]+)\)", re.sub(r"`[^`\n]*`", "", text)):  # `kernel[grid](...)` is no link.
        if "://" in target:
            continue
        path, _, anchor = target.partition("#")
        aim = (page.parent / path).resolve() if path else page
        assert aim.exists(), f"{name_of(page)}: no {target}"
        assert not anchor or anchor in anchors(aim), f"{name_of(page)}: no heading for {target}"
    folders = "bench|cli|common|daemon|docs|examples|kernels|python|reference_scripts|runtime|scripts|tests|tools"
    for name in re.findall(rf"`((?:{folders})/[\w./-]*)`", text):
        placeholder = re.search(r"\b(NAME|OP)\b", name)
        assert placeholder or (ROOT / name).exists(), f"{name_of(page)}: no {name}"


def test_every_page_that_the_product_names_exists():
    """Messages, help texts and comments send readers to pages, also to headings of them."""
    files = subprocess.run(["git", "ls-files"], cwd=ROOT, text=True, capture_output=True).stdout.split()
    named = {}
    for name in files:
        path = ROOT / name
        if path.suffix in {".md", ".svg", ".ptx"} or not path.is_file():
            continue
        text = path.read_bytes().decode(errors="ignore")
        for page, _, anchor in re.findall(r"\bdocs/([\w/.-]+\.(?:md|json|svg))(#([\w-]+))?", text):
            named.setdefault((page, anchor), name)
    assert len(named) > 20 or not files, named
    missing = [f"{name} names docs/{page}{'#' + anchor if anchor else ''}" for (page, anchor), name in named.items()
               if not (ROOT / "docs" / page).is_file() or (anchor and anchor not in anchors(ROOT / "docs" / page))]
    assert not missing, "\n".join(missing)


def test_every_page_is_on_the_tutorial_path():
    listed = set(re.findall(r"\]\(([^)#]+\.md)\)", (ROOT / "docs/README.md").read_text()))
    pages = {str(page.relative_to(ROOT / "docs")) for page in (ROOT / "docs").rglob("*.md")} - {"README.md"}
    assert pages <= listed, f"docs/README.md does not list {sorted(pages - listed)}"


def help_of(*words):
    return subprocess.run([BIN / "gpuemu", *words, "--help"], text=True, capture_output=True, check=True).stdout


def commands_of(help_text):
    listed = help_text.partition("ommands:\n")[2].partition("\n\n")[0]
    return re.findall(r"^  (\w+) ", listed, flags=re.M)


def test_only_commands_that_exist_are_named():
    known = set(commands_of(help_of()))
    assert known
    for page in [*PAGES, ROOT / "ARCHITECTURE.md", ROOT / "CONTRIBUTING.md"]:
        for command in re.findall(r"`gpuemu ([a-z]\w*)", page.read_text()):
            assert command in known, f"{page.name} names `gpuemu {command}`, which does not exist"


def test_the_page_of_commands_has_every_command_and_option():
    page = (ROOT / "docs/reference/cli.md").read_text()
    for command in commands_of(help_of()):
        own = help_of(command)
        for words in [(command,), *((command, verb) for verb in commands_of(own))]:
            name = " ".join(words)
            assert f"gpuemu {name}" in page, f"docs/reference/cli.md does not have `gpuemu {name}`"
            for option in re.findall(r"^  .*?(--[a-z-]+)[ =,\n]", help_of(*words), flags=re.M):
                assert option == "--help" or f"`{option}" in page, f"docs/reference/cli.md: no {option} of {name}"
    options = set(re.findall(r"`(--[a-z-]+)", page))
    everything = help_of() + "".join(help_of(command) for command in commands_of(help_of())) + "".join(
        help_of(command, verb) for command in commands_of(help_of()) for verb in commands_of(help_of(command)))
    assert options <= set(re.findall(r"--[a-z-]+", everything)) | {"--tag"}, "docs/reference/cli.md has options too many"


def test_the_page_of_findings_has_every_kind():
    kinds = protocol()["enums"]["FindingKind"]
    titles = re.findall(r"^### (\w+)", (ROOT / "docs/reference/findings.md").read_text(), flags=re.M)
    assert sorted(titles) == sorted(kinds)


def protocol():
    return json.loads((ROOT / "docs/reference/protocol.json").read_text())


def test_the_page_of_the_protocol_has_every_message():
    page = (ROOT / "docs/reference/protocol.md").read_text()
    for name in [*protocol()["requests"], *protocol()["replies"]]:
        assert f"`{name}`" in page or f'"type": "{name}"' in page, f"docs/reference/protocol.md does not have {name}"
