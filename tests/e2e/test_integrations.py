"""Signed pages, completion, the manual page, and what other people's CI installs."""
import base64
import fcntl
import hashlib
import os
import pty
import re
import select
import shutil
import struct
import subprocess
import sys
import tarfile
import termios
import time

import pytest

from conftest import BIN, ROOT
from test_ci import project

INSTALL = ROOT / "integrations/install.sh"
GITLAB = ROOT / "integrations/gitlab/gpuemu.gitlab-ci.yml"
ACTION = ROOT / "integrations/github/action.yml"


@pytest.fixture(scope="module")
def page(new_home):
    home = new_home(project(cases=1))
    run = home.run("ci", "--quick", "--signed", "--report", "html=report.html")
    assert run.returncode == 0, run.stderr
    return home


def test_a_signed_page_can_be_checked_with_openssl_alone(page, tmp_path):
    text = (page.project / "report.html").read_bytes()
    marker = b"<!-- gpuemu-signature -->\n"
    body, block = text[:text.index(marker) + len(marker)], text[text.index(marker) + len(marker):].decode()
    digest, signature, key = re.findall("<code>([^<]*)</code>", block)
    assert hashlib.sha256(body).hexdigest() == digest
    (tmp_path / "digest").write_bytes(bytes.fromhex(digest))
    (tmp_path / "signature").write_bytes(base64.b64decode(signature))
    public = page.home / ".gpuemu/sign-ed25519.pub"
    if not shutil.which("openssl"):
        pytest.skip("no openssl on this machine")
    done = subprocess.run(["openssl", "pkeyutl", "-verify", "-pubin", "-inkey", public, "-rawin", "-in",
                           tmp_path / "digest", "-sigfile", tmp_path / "signature"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    raw = subprocess.run(["openssl", "pkey", "-pubin", "-in", public, "-outform", "DER"], capture_output=True).stdout[-32:]
    assert hashlib.sha256(raw).hexdigest() == key


def test_verify_tells_a_page_from_a_changed_one(page):
    good = page.run("report", "verify", "report.html")
    assert good.returncode == 0 and "unchanged" in good.stdout, good.stderr
    text = (page.project / "report.html").read_text()
    (page.project / "changed.html").write_text(text.replace("all good", "all bad", 1))
    bad = page.run("report", "verify", "changed.html")
    assert bad.returncode == 1 and "changed after" in bad.stdout
    assert page.run("report", "verify", "nothing.html").returncode == 2
    assert page.run("report", "verify", "report.html", "--key", "report.html").returncode == 2
    assert page.run("ci", "--signed").returncode == 2


def test_the_last_run_and_stored_results_can_be_reported_later(page):
    again = page.run("report", "--format", "junit")
    assert again.returncode == 0 and again.stdout.startswith("<?xml"), again.stderr
    stored = page.run("report", "--since-hours", "1", "--format", "json", "--include-lint")
    assert stored.returncode == 0 and '"profile": "stored"' in stored.stdout and '"kernel_name"' in stored.stdout
    assert page.run("report", "--include-artifacts", "none").returncode == 2
    covered = page.run("coverage", "--format", "text")
    assert covered.stdout.startswith("2 of 2 ops have results")


def words_of(text):
    return set(re.findall(r"^  ([a-z]+) ", text, re.M))


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_is_what_the_shell_understands_and_names_every_command(shell):
    script = subprocess.run([BIN / "gpuemu", "completion", shell], capture_output=True, text=True, check=True).stdout
    if shutil.which(shell):
        checked = subprocess.run([shell, "-n", "/dev/stdin"], input=script, capture_output=True, text=True)
        assert checked.returncode == 0, checked.stderr
    for command in ("ci", "lint", "report", "baseline", "completion"):
        assert command in script
    assert "--fail-fast" in script or "fail-fast" in script


def test_bash_completes_commands_options_and_choices():
    script = subprocess.run([BIN / "gpuemu", "completion", "bash"], capture_output=True, text=True, check=True).stdout

    def complete(*words):
        program = script + f"""
COMP_WORDS=({" ".join(f"'{word}'" for word in words)}); COMP_CWORD={len(words) - 1}
_gpuemu; printf '%s\\n' "${{COMPREPLY[@]}}" """
        return subprocess.run(["bash", "-c", program], capture_output=True, text=True, check=True).stdout.split()

    assert "ci" in complete("gpuemu", "c") and "config" in complete("gpuemu", "c")
    assert complete("gpuemu", "ci", "--sh") == ["--shard"]
    assert complete("gpuemu", "lint", "--format", "s") == ["sarif"]
    assert "save" in complete("gpuemu", "baseline", "sa")


# Typed text up to the TAB -> the words of the command that Enter then runs.
TYPED = [("gpuemu ci --shar", "ci --shard"), ("gpuemu lint --format s", "lint --format sarif"), ("gpuemu basel", "baseline"),
         ("gpuemu baseline sa", "baseline save"), ("gpuemu --verbose baseline dele", "--verbose baseline delete"),
         ("gpuemu lint only_th", "lint only_this.cu"), ("gpuemu completion fi", "completion fish")]  # fmt: skip


class Terminal:
    """An interactive shell at a terminal of its own."""

    def __init__(self, command, folder):
        self.ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 200, 0, 0))
        env = {"PATH": "/usr/bin:/bin", "HOME": str(folder), "TERM": "xterm", "LANG": "C.UTF-8"}
        self.shell = subprocess.Popen(command, cwd=folder, env=env, stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True)
        os.close(theirs)
        self.seen = ""

    def type(self, text):
        os.write(self.ours, text.encode())

    def wait_for(self, text, seconds=30):
        """What came up to and with `text`, which is then gone."""
        deadline = time.monotonic() + seconds
        while text not in self.seen:
            left = deadline - time.monotonic()
            assert left > 0, f"no {text!r} in {self.seen!r}"
            if select.select([self.ours], [], [], left)[0]:
                self.seen += os.read(self.ours, 1 << 12).decode(errors="replace")
        before, _, self.seen = self.seen.partition(text)
        return before + text

    def close(self):
        self.shell.kill()
        self.shell.wait()
        os.close(self.ours)


def completion_file(shell, folder, name):
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as out:
        subprocess.run([BIN / "gpuemu", "completion", shell], stdout=out, check=True)
    return path


@pytest.mark.skipif(not shutil.which("zsh"), reason="no zsh on this machine: apt-get install zsh")
@pytest.mark.parametrize("installed", [True, False], ids=["from_a_folder", "from_a_start_up_file"])
def test_zsh_completes_what_is_typed(tmp_path, installed):
    (tmp_path / "only_this.cu").touch()
    file = completion_file("zsh", tmp_path, "functions/_gpuemu")
    terminal = Terminal(["zsh", "-f", "-i"], tmp_path)
    begin = [f"fpath=({file.parent} $fpath)"] if installed else []
    begin += ["autoload -Uz compinit", "compinit -u -D"] + ([] if installed else [f"source {file}"])
    # A function instead of the program: it prints the words that it gets.
    begin += ["PS1='$ '", "gpuemu() { print -r -- \"words=<$*>\" }", "print begun=$((40+2))"]
    try:
        terminal.type("\n".join(begin) + "\n")
        terminal.wait_for("begun=42")
        for typed, words in TYPED:
            terminal.type(typed + "\t")
            # The blank behind a finished word says that completion is done.
            terminal.wait_for(words.split()[-1])
            terminal.type("\n")
            assert terminal.wait_for(">\r\n").rpartition("words=<")[2].split(">")[0].strip() == words
    finally:
        terminal.close()


@pytest.mark.skipif(not shutil.which("fish"), reason="no fish on this machine: apt-get install fish")
def test_fish_offers_what_fits(tmp_path):
    (tmp_path / "only_this.cu").touch()
    file = completion_file("fish", tmp_path, ".config/fish/completions/gpuemu.fish")
    # Fish offers nothing for programs that are not there.
    env = {"PATH": f"{BIN}:/usr/bin:/bin", "HOME": str(tmp_path), "LANG": "C.UTF-8"}

    def offers(typed):
        done = subprocess.run(["fish", "-c", f"complete -C '{typed}'"], cwd=tmp_path, env=env, capture_output=True, text=True, timeout=60)
        assert done.returncode == 0 and not done.stderr, done.stderr
        return dict((line.split("\t") + [""])[:2] for line in done.stdout.splitlines())

    assert file.is_file()
    for typed, words in TYPED:
        assert list(offers(typed)) == [words.split()[-1]], typed
    commands = offers("gpuemu ")
    assert {"ci", "lint", "baseline"} <= set(commands) and commands["ci"].startswith("Check everything before a merge")
    assert not any("\\" in text for text in commands.values())
    assert "save" not in commands and "save" in offers("gpuemu baseline ") and "ci" not in offers("gpuemu baseline ")


def test_the_manual_page_names_every_command_and_is_sound():
    text = subprocess.run([BIN / "gpuemu", "man"], capture_output=True, text=True, check=True).stdout
    assert text.startswith(".TH GPUEMU 1") and ".SS gpuemu baseline save" in text and ".SS gpuemu ci" in text
    if shutil.which("groff"):
        done = subprocess.run(["groff", "-man", "-Tutf8", "-ww", "-z"], input=text, capture_output=True, text=True)
        assert done.returncode == 0 and not done.stderr, done.stderr


@pytest.fixture
def release(tmp_path):
    """A mirror with one release whose program only says its version."""
    folder = tmp_path / "gpuemu-1.0.0-Linux"
    (folder / "bin").mkdir(parents=True)
    program = folder / "bin/gpuemu"
    program.write_text("#!/bin/sh\necho gpuemu v1.0.0\n")
    program.chmod(0o755)
    file = tmp_path / "mirror/v1.0.0/gpuemu-1.0.0-Linux.tar.gz"
    file.parent.mkdir(parents=True)
    with tarfile.open(file, "w:gz") as archive:
        archive.add(folder, folder.name)
    return tmp_path, hashlib.sha256(file.read_bytes()).hexdigest()


def install(release, **changes):
    folder, digest = release
    env = {"PATH": "/usr/local/bin:/usr/bin:/bin", "GPUEMU_VERSION": "1.0.0", "GPUEMU_SHA256": digest,
           "GPUEMU_URL": f"file://{folder}/mirror", **changes}
    return subprocess.run(["bash", INSTALL, folder / "installed"], env=env, capture_output=True, text=True)


@pytest.mark.skipif(not shutil.which("curl"), reason="no curl on this machine")
def test_the_installer_takes_what_is_pinned_and_nothing_else(release):
    folder, digest = release
    other = ("1" if digest[0] == "0" else "0") + digest[1:]
    for changes, code in (({"GPUEMU_SHA256": other}, 3), ({"GPUEMU_SHA256": ""}, 2), ({"GPUEMU_VERSION": "latest"}, 2),
                          ({"GPUEMU_VERSION": "1.0.1"}, 3), ({"GPUEMU_URL": "http://localhost:1"}, 3)):
        refused = install(release, **changes)
        assert refused.returncode == code and not (folder / "installed").exists(), refused.stderr
    done = install(release)
    assert done.returncode == 0 and (folder / "installed/bin/gpuemu").exists(), done.stderr
    again = install(release)  # As the second use in a job does.
    assert again.returncode == 0 and "already" in again.stderr
    other_pin = install(release, GPUEMU_SHA256=other)
    assert other_pin.returncode == 2 and (folder / "installed/bin/gpuemu").exists()
    (folder / "installed/.gpuemu-sha256").unlink()
    assert install(release).returncode == 2


@pytest.mark.skipif(not shutil.which("curl"), reason="no curl on this machine")
def test_the_gitlab_job_installs_without_a_file_of_this_repository(release):
    yaml = pytest.importorskip("yaml")
    folder, digest = release
    before = yaml.safe_load(GITLAB.read_text())[".gpuemu"]["before_script"]
    written = next(step for step in before if "INSTALLER" in step)
    assert written.partition("<<'INSTALLER'\n")[2] == INSTALL.read_text() + "INSTALLER\n"
    steps = [step.replace("/tmp/install-gpuemu.sh", f"{folder}/install.sh") for step in before if "apt-get" not in step]
    env = {"PATH": "/usr/local/bin:/usr/bin:/bin", "GPUEMU_VERSION": "1.0.0", "GPUEMU_SHA256": digest,
           "GPUEMU_URL": f"file://{folder}/mirror", "GPUEMU_HOME": str(folder / "there")}
    (folder / "checkout").mkdir()
    done = subprocess.run(["bash", "-e", "-c", "\n".join(steps)], env=env, cwd=folder / "checkout", capture_output=True, text=True)
    assert done.returncode == 0 and (folder / "there/bin/gpuemu").exists(), done.stderr


@pytest.mark.skipif(not shutil.which("curl"), reason="no curl on this machine")
def test_the_github_action_can_be_used_several_times_in_a_job(release):
    yaml = pytest.importorskip("yaml")
    folder, digest = release
    runs = [step["run"] for step in yaml.safe_load(ACTION.read_text())["runs"]["steps"] if "run" in step]
    (folder / "path").touch()
    for reports in ("first", "second"):
        at = {"PATH": "/usr/local/bin:/usr/bin:/bin", "RUNNER_TEMP": str(folder / "temp"), "GITHUB_PATH": str(folder / "path"),
              "GITHUB_ACTION_PATH": str(ACTION.parent), "GITHUB_STEP_SUMMARY": str(folder / "summary"), "GPUEMU_VERSION": "1.0.0",
              "GPUEMU_SHA256": digest, "GPUEMU_URL": f"file://{folder}/mirror", "GPUEMU_ARGUMENTS": "--quick", "GPUEMU_REPORTS": reports}
        for run in runs:
            added = (folder / "path").read_text().split()
            done = subprocess.run(["bash", "-e", "-c", run], env={**at, "PATH": ":".join([*reversed(added), at["PATH"]])}, cwd=folder,
                                  capture_output=True, text=True)
            assert done.returncode == 0, done.stderr
        assert (folder / "temp/gpuemu-state" / reports).is_dir()


GITHUB_ACTION = ["--builtin-schema", "vendor.github-actions"]
GITHUB_WORKFLOW = ["--builtin-schema", "vendor.github-workflows"]
GITLAB_CI = ["--builtin-schema", "vendor.gitlab-ci", "--data-transform", "gitlab-ci"]


@pytest.mark.parametrize("file, schema, part", [
    (ACTION, GITHUB_ACTION, "runs"), (GITLAB, GITLAB_CI, ".gpuemu"), (".github/workflows/gpuemu.yml", GITHUB_WORKFLOW, "jobs"),
    (".gitlab-ci.yml", GITLAB_CI, "gpuemu")], ids=["action", "gitlab", "init_github", "init_gitlab"])  # fmt: skip
def test_the_templates_have_the_form_that_github_and_gitlab_publish(new_home, tmp_path, file, schema, part):
    pytest.importorskip("check_jsonschema", reason="no check-jsonschema: scripts/setup.sh --tests installs it from PyPI")
    yaml = pytest.importorskip("yaml")
    if isinstance(file, str):
        home = new_home({})
        assert home.run("init", "--ci", "github" if "github" in file else "gitlab").returncode == 0
        file = home.project / file
    command = [sys.executable, "-m", "check_jsonschema", *schema]
    # Of a job that is only extended GitLab's schema asks nothing: it is looked at as one that runs.
    text = re.sub(rf"^{re.escape(part)}:", f"{part.lstrip('.')}:", file.read_text(), flags=re.M)
    document = yaml.safe_load(text)
    document[part.lstrip(".")] = ["nonsense"]
    for name, content, wrong in (("good.yml", text, False), ("bad.yml", yaml.safe_dump(document), True)):
        (tmp_path / name).write_text(content)
        done = subprocess.run([*command, tmp_path / name], capture_output=True, text=True)
        assert done.returncode == int(wrong), done.stdout + done.stderr


def shell_texts():
    """Every shell program that the integrations and packages have, by name."""
    yaml = pytest.importorskip("yaml")
    action = yaml.safe_load(ACTION.read_text())["runs"]["steps"]
    job = yaml.safe_load(GITLAB.read_text())[".gpuemu"]
    docker = re.findall(r"^RUN ((?:.*\\\n)*.*)", (ROOT / "packaging/Dockerfile").read_text(), re.M)
    texts = {f"step '{step['name']}'": "#!/bin/bash\n" + step["run"] for step in action if "run" in step}
    texts["gitlab"] = "#!/bin/bash\n" + "\n".join([*job["before_script"], *job["script"]])
    texts["Dockerfile"] = "#!/bin/sh\n" + "\n".join(docker)
    for path in (INSTALL, *sorted((ROOT / "scripts").glob("*.sh")), *sorted((ROOT / "tests/soak").glob("*.sh"))):
        texts[str(path.relative_to(ROOT))] = path.read_text()
    return texts


@pytest.mark.skipif(not shutil.which("shellcheck"), reason="no shellcheck on this machine: apt-get install shellcheck")
def test_shellcheck_finds_nothing_in_any_script(tmp_path):
    found = ""
    for name, text in shell_texts().items():
        file = tmp_path / re.sub(r"\W+", "_", name)
        file.write_text(text)
        # SC1091: what is sourced lies elsewhere.
        done = subprocess.run(["shellcheck", "--severity=warning", "--exclude=SC1091", file], capture_output=True, text=True)
        found += done.stdout
    assert not found, found


def test_a_bundle_replaces_its_own_files_and_leaves_everything_else(tmp_path):
    """What scripts/bundle.sh does before and after it installs."""
    prefix = tmp_path / "local"
    (prefix / "bin").mkdir(parents=True)
    (prefix / "bin/gpuemu").write_text("a program that somebody installed")
    (prefix / "bin/gpuemu").chmod(0o755)
    refused = subprocess.run([ROOT / "scripts/bundle.sh", prefix], capture_output=True, text=True)
    assert refused.returncode == 2 and "is no bundle" in refused.stderr and (prefix / "bin/gpuemu").exists()

    def shell(text):
        return subprocess.run(["bash", "-euc", f". '{ROOT}/scripts/bundle_folder.sh'; {text}"], capture_output=True, text=True, cwd=tmp_path)

    made = tmp_path / "a [new]*folder"
    assert shell(f"takes_bundle '{made}'").returncode == 0
    for name in ("bin/gpuemu", "lib/deep/one.so", "share/mine.txt"):
        (made / name).parent.mkdir(parents=True, exist_ok=True)
        (made / name).write_text(name)
    (tmp_path / "manifest").write_text("".join(f"{made}/{name}\n" for name in ("bin/gpuemu", "lib/deep/one.so")))
    assert shell(f"takes_bundle '{made}'").returncode == 1
    done = shell(f"mark_bundle '{made}' manifest; takes_bundle '{made}'; remove_bundle '{made}'")
    assert done.returncode == 0, done.stderr
    assert sorted(str(one.relative_to(made)) for one in made.rglob("*")) == ["share", "share/mine.txt"]
    (made / ".gpuemu-bundle").write_text("../outside\n")
    (tmp_path / "outside").touch()
    assert shell(f"remove_bundle '{made}'").returncode == 1 and (tmp_path / "outside").exists()
