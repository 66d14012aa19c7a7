"""`gpuemu lint` on the CUDA kernels of this repository against `ptxas -v` and `cuobjdump --dump-resource-usage`, whose output is
read here by other means than gpuemu's."""
import json
import pathlib
import re
import shutil
import subprocess

import pytest

from conftest import ROOT, cuda_tool

PTXAS, CUOBJDUMP = cuda_tool("ptxas"), cuda_tool("cuobjdump")
pytestmark = pytest.mark.skipif(not PTXAS, reason="no ptxas in CUDA_HOME, PATH, /usr/local/cuda or build/cuda: run scripts/setup.sh --tests")
OLD, NEW = ["sm_80", "sm_90"], ["sm_90"]
# Folder below the root -> the kernels that each run has at least, and the GPUs that all of them can run on. Those without a
# gpuemu.toml are compiled file by file.
PROJECTS = {"kernels": (40, OLD), "examples": (8, OLD), "tests/kernels": (16, OLD), "tests/kernels/functions": (20, NEW),
            "tests/kernels/fast": (8, OLD), "tests/kernels/blocks": (20, OLD), "tests/kernels/matrices": (8, NEW),
            "tests/kernels/copies": (6, NEW), "tests/kernels/fp8": (2, NEW)}  # fmt: skip
QUICK = ["examples"]
SYSTEM_SHARED = 1024  # What the system takes of the shared memory of a block that has any, since sm_90; only cuobjdump counts it.


def of_ptxas(ptx, arch, cubin, *options):
    """Entry -> its numbers. Leaves the machine code in `cubin`."""
    done = subprocess.run([PTXAS, "-v", f"-arch={arch}", *options, "-o", cubin, ptx], capture_output=True, text=True, check=True)
    found = {}
    for part in done.stderr.split("Compiling entry function '")[1:]:
        entry, _, text = part.partition("'")
        frame = re.search(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads", text)

        def number(pattern):
            match = re.search(pattern, text)
            return int(match[1]) if match else 0

        banks = {bank: int(size) for size, bank in re.findall(r"(\d+) bytes cmem\[(\d+)\]", text)}
        found[entry] = {"registers": number(r"Used (\d+) registers"), "stack_bytes": int(frame[1]), "spill_store_bytes": int(frame[2]),
                        "spill_load_bytes": int(frame[3]), "barriers": number(r"used (\d+) barriers"),
                        "shared_bytes": number(r"(\d+) bytes smem"), "constant_bytes": banks}  # fmt: skip
    return found


def of_cuobjdump(cubin, arch):
    text = subprocess.run([CUOBJDUMP, "--dump-resource-usage", cubin], capture_output=True, text=True, check=True).stdout
    found = {}
    for entry, line in re.findall(r"Function (\S+):\s*\n\s*(REG:.*)", text):
        words = dict(word.rsplit(":", 1) for word in line.split())
        shared = int(words["SHARED"])
        shared -= SYSTEM_SHARED if arch == "sm_90" and shared >= SYSTEM_SHARED else 0
        found[entry] = {"registers": int(words["REG"]), "stack_bytes": int(words["STACK"]), "shared_bytes": shared,
                        "constant_bytes": {name[9:-1]: int(size) for name, size in words.items() if name.startswith("CONSTANT[") and int(size)}}
    return found


def plain(numbers):
    """Comparable and countable: an entry that two modules have may have two sets of numbers."""
    return json.dumps(numbers, sort_keys=True)


def told(results, names):
    """Entry -> the numbers that lint has told of it."""
    found = {}
    for one in results:
        assert not one.get("error"), one
        metrics = one["metrics"]
        [made] = metrics["compiled"]
        # Of a name that several files have, theirs stands before it.
        entry = metrics["ptx"]["entry"] if metrics.get("ptx") else re.sub(r"^\d+\.cubin:", "", one["kernel_name"])
        found.setdefault(entry, set()).add(plain({name: made[name] for name in names}))
    return found


def only_has_templates(path):
    """Such a file has no entry until a launch names one."""
    text = re.sub(r"//.*", "", path.read_text())
    heads = re.findall(r"(template\s*<[^{};]*>\s*)?__global__", text)
    return bool(heads) and all(heads)


def sources_of(folder):
    if (ROOT / folder / "gpuemu.toml").is_file():
        return []
    return sorted(str(path) for path in (ROOT / folder).glob("*/*.cu") if not only_has_templates(path))


def measured(new_home, folder, arch):
    """What lint says of every kernel of the folder, and the PTX that it measured."""
    home = new_home({"gpuemu.toml": f'[runtime]\ninclude_dirs = ["{ROOT}"]\n'})
    (home.home / "db.cache").unlink()  # What is in it is this project's.
    if not sources_of(folder):
        shutil.rmtree(home.project)
        shutil.copytree(ROOT / folder, home.project)
        for shared in (ROOT / folder).parent.glob("*"):  # What its gpuemu.toml names beside it.
            if shared.is_dir() and f"../{shared.name}/" in (home.project / "gpuemu.toml").read_text():
                shutil.copytree(shared, home.project.parent / shared.name)
    run = home.run("lint", *sources_of(folder), "--arch", arch, "--format", "json", timeout=1200)
    results = json.loads(run.stdout)
    home.stop()
    texts = sorted((home.home / "db.cache").rglob("*.ptx"))
    texts += [path for path in sorted(home.project.rglob("*.ptx")) if any(one["source"] == str(path) for one in results)]
    return home, results, texts


def check(new_home, folder, arch):
    home, results, texts = measured(new_home, folder, arch)
    assert len(results) >= PROJECTS[folder][0], len(results)
    by_hand, in_code, cubins, text_of = {}, {}, [], {}
    for number, ptx in enumerate(texts):
        cubins.append(home.home / f"{number}.cubin")
        for entry, numbers in of_ptxas(ptx, arch, cubins[-1]).items():
            by_hand.setdefault(entry, set()).add(plain(numbers))
            text_of[entry] = ptx
        if CUOBJDUMP:
            for entry, numbers in of_cuobjdump(cubins[-1], arch).items():
                in_code.setdefault(entry, set()).add(plain(numbers))
    names = ["registers", "stack_bytes", "spill_store_bytes", "spill_load_bytes", "barriers", "shared_bytes", "constant_bytes"]
    said = told(results, names)
    if not sources_of(folder):
        # A kernel of a project is measured without the others of its file, whose tables of branches may be in the same constant bank.
        for entry in [entry for entry in said if said[entry] != by_hand[entry]]:
            alone = of_ptxas(text_of[entry], arch, home.home / "alone.cubin", "-e", entry)
            by_hand[entry] = {plain(alone[entry])}
    # A module may have entries that no launch of the project names.
    assert said and said == {entry: by_hand[entry] for entry in said}
    if not CUOBJDUMP:
        return len(said)
    run = home.run("lint", *cubins, "--format", "json", timeout=1200)
    code = told(json.loads(run.stdout), ["registers", "stack_bytes", "shared_bytes", "constant_bytes"])
    # Machine code is listed by the names that people write, cuobjdump has the compiler's.
    assert len(code) == len(in_code) >= len(said)
    assert all(code[entry] == numbers for entry, numbers in in_code.items() if entry in code)
    assert set().union(*code.values()) == set().union(*in_code.values())
    return len(said)


@pytest.mark.parametrize("folder,arch", [pytest.param(folder, arch, marks=[] if folder in QUICK and arch == archs[-1] else pytest.mark.slow)
                                         for folder, (_, archs) in PROJECTS.items() for arch in archs])
def test_every_number_is_that_of_ptxas_and_of_the_machine_code(new_home, folder, arch):
    assert check(new_home, folder, arch) > 0


def test_no_folder_with_cuda_kernels_is_left_out():
    folders = {path.relative_to(ROOT) for top in ("kernels", "examples", "tests/kernels") for path in (ROOT / top).rglob("*.cu")}
    for path in folders:
        assert any(path.is_relative_to(pathlib.Path(one)) for one in PROJECTS), path
