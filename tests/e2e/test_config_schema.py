"""`gpuemu config schema`: what it takes and refuses is what `gpuemu config check` takes and refuses."""
import json
import re
import subprocess
import tomllib

import pytest

from conftest import BIN, ROOT

jsonschema = pytest.importorskip("jsonschema")

GOOD = [path for folder in ("examples", "kernels", "tests", "bench", "docs") for path in sorted((ROOT / folder).rglob("*.toml"))
        if not path.name.startswith("bad_") and ("[[ops]]" in path.read_text() or "[[kernels]]" in path.read_text())]  # fmt: skip
BAD_FILES = [ROOT / "tests/golden/config" / f"bad_{name}.toml" for name in ("wrong_types", "unknown_keys")]
HEAD = """[[kernels]]
name = "scale"
source = "builtin:relu"
inputs = [{ name = "x", shape = ["n"] }]
outputs = [{ name = "y", shape = ["n"] }]
dims = { n = [1, 8] }
launches = [{ entry = "scale", grid = 1, block = 1, args = ["x", "y"] }]
"""
# One mistake each, behind HEAD.
BAD = [
    "prioritty = 3", 'priority = "high"', "priority = 1.5", "max_elements = 0", "exact = 1", "accumulate = 1.5", "layouts = ['diagonal']",
    "dtypes = ['float31']", "dtypes = []", "error_scale = 'dött'", "error_scale = { y = 'dött' }", "nan_policy = 'none'", "subnormal = true",
    "tolerances = { float32 = 'automatic' }", "tolerances = { float32 = {} }", "tolerances = { float32 = { tol = 1 } }",
    "tolerances = { float32 = -1 }", "tolerances = { float31 = 1 }", "invariants = { sums_to_two = true }", "invariants = { range = { low = 1 } }",
    "invariants = { no_nan = 3 }", "invariants = { monotonic = { direction = 'up' } }", "invariants = { sums_to_one = { axis = 1.5 } }",
    "attrs = { a = { } }", "attrs = { a = { values = [] } }", "attrs = { '1a' = { values = 1 } }", "attrs = { a = { type = 'real', values = 1 } }",
    "[[kernels]]\nsource = 'a.cu'", "[[kernels]]\nname = 'a'\nsource = 'a.cpp'", "[[kernels]]\nname = 'a'\nsource = 'builtin:nothing'",
    "[[kernels]]\nname = 'a'\nlaunches = [{ entry = 'a', grid = 1 }]", "[[kernels]]\nname = 'a'\nlaunches = [{ entry = 'a', grid = [1, 1, 1, 1], block = 1 }]",
    "[[kernels]]\nname = 'a'\nlaunches = [{ entry = 'a', grid = 1, block = 1, args = [[]] }]",
    "[[kernels]]\nname = 'a'\nlaunches = [{ entry = 'a', grid = 1, block = 1, args = [['i32:1', 2]] }]",
    "[[kernels]]\nname = 'a'\nscratch = [{ name = 's' }]", "[[kernels]]\nname = 'a'\ninputs = [{ name = 'x', shape = ['n'], range = [1] }]",
    "[[kernels]]\nname = 'a'\ninputs = [{ name = 'x', shape = ['n'], inout = true }]", "[[kernels]]\nname = 'a'\ndims = { n = [] }",
    "[[kernels]]\nname = 'a'\ndims = { n = -1 }", "[[kernels]]\nname = 'a'\ndims = { n = { values = [] } }",
    "[[kernels]]\nname = 'a'\ndims = { n = { range = [1, 2, 3] } }", "[[kernels]]\nname = 'a'\ndims = { n = { range = [1, 8], multiple_of = 0 } }",
    "[[kernels]]\nname = 'a'\ndims = { n = { range = [1, 8], step = 2 } }", "[[kernels]]\nname = 'a'\ndims = { n = '' }", "[[kernels]]\nname = 'a'\nartifact_checks = { max_spills = -1 }",
    "[[kernels]]\nname = 'a'\nartifact_checks = { sm_0 = {} }", "[[kernels]]\nname = 'a'\nartifact_checks = { min_occupancy = 2 }",
    "[runtime]\nworkers = 0", "[runtime]\nworkers = 'many'", "[runtime]\nbackend = 'gpu'", "[runtime]\narch = 'sm_'", "[runtime]\ninclude_dirs = 'a'",
    "[runtime]\nkernel_policy = { scale = 1 }", "[validation]\nseed = -1",
    "[validation]\nseed = 'seven'", "[validation]\ncases = 0", "[validation]\nstrategies = ['sometimes']", "[validation]\nsanitize = ['dust']",
    "[validation]\nreference_timeout_s = 0", "[validation]\nreference_memory_limit_mb = 1", "[validation]\nstrict = 'yes'", "[ci]\nparallel_jobs = 1025",
    "[policies]\nwarn_threshold = -0.5", "[storage]\nbytes = '8GB'", "[storage]\nbytes = -1", "[storage]\npassing_days = '30d'", "[storage]\nrun_count = -1", "[daemon]\nlog_level = 'loud'", "[project]\nname = 3", "[projects]\nname = 'a'", "[[ops]]\nname = 'a'\nexecution_mode = 'x'",
]  # fmt: skip
# What is read in more than one way, behind HEAD.
ALSO_GOOD = [
    "attrs = { m = { values = 1 } }\n[[kernels]]\nname = 'a'\nsource = 'builtin:relu'\ninputs = [{ name = 'x', shape = ['m'], range = [0, 'm - 1'] }]\n"
    "outputs = [{ name = 'y', shape = ['k'] }]\nlaunches = [{ entry = 'a', grid = 1, block = 1, args = ['x', 'y'] }]\n"
    "dims = { n = { values = [32, 64] }, m = '2 * n', k = { range = [8, 64], multiple_of = 8, power_of_two = true } }",
    "dtypes = ['F32', 'BFloat16', 'u8', 'bool']", "accumulate = 'n'", "accumulate = 8", "layouts = 'contiguous'", "error_scale = { y = 'dot' }",
    "tolerances = { f32 = 1e-5, Float16 = 'auto', f64 = { ulp = 2 }, bf16 = 1 }", "attrs = { a = { values = 1 } }", "build = { arch = 'x' }",
    "invariants = { no_nan = true, finite = false, sums_to = [{ axis = -1, value = 2 }, { axis = 0, value = 1.5 }], sorted = { direction = 'increasing' } }",
    "invariants = { scale_equivariant = { factor = 2, exact = true }, deterministic = { runs = 3, schedules = ['reverse', 'random'] } }",
    "[kernels.artifact_checks]\nmax_spills = 1\nsm_90a = { max_registers = 1 }", "[runtime]\nworkers = 'auto'", "[runtime]\nemulated_devices = 'sm_75'",
    "[runtime.kernel_policy]\nauto_select = 'best_performance'\nscale = 'scale'", "[runtime]\nauto_select = 'first_supported'", "[validation]\nseed = '18446744073709551615'",
    "[[kernels]]\nname = 'a'\nlaunches = [{ entry = 'a', grid = 1, block = 1, args = ['i8:1', ['f16:0.5', ['bool:1', 'ptr:null']]] }]",
    "[validation]\nreference_memory_limit_mb = 'auto'", "[validation.shapes]\nanything = [1]", "[ci]\nquick_dtypes = ['f16']",
    "[storage]\nbytes = '512MiB'\npassing_days = 0\nprune_minutes = 5", "[storage]\nbytes = 0",
]  # fmt: skip


def read(text):
    """TOML 1.1 has line breaks, comments and a last comma inside of braces, which tomllib does not know yet."""
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        plain, depth = "", 0
        for part in re.findall(r"""\"[^\"\n]*\"|'[^'\n]*'|\#[^\n]*|[{}\n]|[^"'#{}\n]+""", text):
            depth += {"{": 1, "}": -1}.get(part, 0)
            plain += " " if depth and (part == "\n" or part.startswith("#")) else part
        return tomllib.loads(re.sub(r",\s*}", " }", plain))


@pytest.fixture(scope="module")
def schema():
    done = subprocess.run([BIN / "gpuemu", "config", "schema"], capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    jsonschema.Draft7Validator.check_schema(found)
    return found


@pytest.fixture(scope="module")
def takes(schema):
    validator = jsonschema.Draft7Validator(schema)
    return lambda text: [error.message for error in validator.iter_errors(read(text))]


@pytest.fixture(scope="module")
def home(new_home):
    return new_home({"gpuemu.toml": HEAD})


def checks(home, text):
    (home.project / "gpuemu.toml").write_text(text)
    done = home.run("config", "check", "--format", "json")
    return [problem["key"] + ": " + problem["message"] for problem in json.loads(done.stdout)["problems"]]


@pytest.mark.parametrize("path", GOOD, ids=lambda path: str(path.relative_to(ROOT)))
def test_files_of_the_project_are_valid(takes, path):
    assert takes(path.read_text()) == []


@pytest.mark.parametrize("path", BAD_FILES, ids=lambda path: path.name)
def test_files_that_are_wrong_are_not(takes, path):
    assert takes(path.read_text())


@pytest.mark.parametrize("more", BAD)
def test_the_schema_and_the_readers_refuse_the_same(takes, home, more):
    assert takes(HEAD + more + "\n"), "the schema takes it"
    assert checks(home, HEAD + more + "\n"), "config check takes it"


@pytest.mark.parametrize("more", ALSO_GOOD)
def test_the_schema_and_the_readers_take_the_same(takes, home, more):
    assert takes(HEAD + more + "\n") == []
    assert checks(home, HEAD + more + "\n") == []


def tables(schema):
    yield "", schema
    yield from ((name, one) for name, one in schema["definitions"].items() if "properties" in one)


def test_every_key_says_what_it_means_and_no_other_is_taken(schema):
    for name, table in tables(schema):
        if name == "invariants":
            continue
        for key, value in table["properties"].items():
            assert value.get("description", "").endswith("."), (name, key)
        assert table["additionalProperties"] is not True, name


def test_every_key_of_the_schema_is_on_the_page(schema):
    page = (ROOT / "docs/reference/config.md").read_text()
    for name, table in tables(schema):
        if name == "invariants":
            continue
        for key, value in table["properties"].items():
            assert value.get("deprecated") or re.search(rf"[`. \[{{]{key}(`| =|\])", page), (name, key)


def test_the_page_names_the_keys_without_effect_and_no_others(schema):
    page = (ROOT / "docs/reference/config.md").read_text()
    keys, rest = page.split("\n## Expressions\n")[0].split("\n## Keys\n")[1], page.split("\n## Files of existing projects\n")[1]
    named = {name for row in re.findall(r"^\| (`.*?) \|", rest, flags=re.M) for name in re.findall(r"`([\w.]+)`", row)}
    tables_of = {"runtime_kernel_policy": "runtime.kernel_policy", "test_data": None, "": ""}
    retired = {f"{tables_of.get(name, name)}.{key}" for name, table in tables(schema) if name != "invariants"
               for key, value in table["properties"].items() if value.get("deprecated")}  # fmt: skip
    assert len(retired) > 10 and named == retired
    listed = {name for row in re.findall(r"^\| (`.*?) \|", keys, flags=re.M) for name in re.findall(r"`([\w.]+)`", row)}
    assert not listed & ({key.split(".")[-1] for key in retired} - {"layouts"})


@pytest.mark.parametrize("toml, key", [
    ("[project]\nname = 'a'\nversion = '1'", "project.version"), ("[project]\nname = 'a'\nframework = 'jax'", "project.framework"),
    ("[validation]\nlayouts = []", "validation.layouts"),
    ("frameworks = ['jax']", "kernels[0].frameworks"),
])  # fmt: skip
def test_a_key_without_effect_is_a_warning(home, toml, key):
    (home.project / "gpuemu.toml").write_text(HEAD + toml + "\n")
    done = home.run("config", "check")
    assert done.returncode == 0 and f"{key}: has no effect: " in done.stdout + done.stderr, done.stdout + done.stderr
