"""The tables of the pages have what the tables of the code have: nothing that is gone, nothing left out."""
import re

import pytest

from conftest import ROOT

WORDS = "common/config"


def text_of(path):
    return (ROOT / path).read_text()


def section(path, first, last=None):
    """What stands between two headings of a page."""
    text = text_of(path)
    start = text.index(f"\n{first}\n")
    return text[start : text.index(f"\n{last}\n", start + 1) if last else len(text)]


def first_cells(text):
    """The names in backticks of the first column of every table."""
    return {name for cell in re.findall(r"^\| (`.*?) \|", text, flags=re.M) for name in re.findall(r"`([\w.]+)`", cell)}


def test_the_page_of_gpuemu_toml_has_every_key_that_is_read_and_no_other():
    read = set()
    for path in sorted((ROOT / "common/config").glob("*.cc")):
        if not path.name.endswith("_test.cc"):
            read |= set(re.findall(r'\b(?:read\w*|find|has)\(\s*(?:\w+, )?"([a-z_]+)"', path.read_text()))
    keys = section("docs/reference/config.md", "## Keys", "## Expressions")
    documented = {name.split(".")[-1] for name in first_cells(keys)}
    named = set(re.findall(r"[a-z_]+", " ".join(re.findall(r"`[^`]*`", keys))))
    assert len(read) > 90 and len(documented) > 75
    assert documented <= read, f"nobody reads {sorted(documented - read)}"
    # Tables themselves are headings; lo and hi belong to an invariant, tolerance to relations.
    missing = read - named - {"project", "runtime", "lo", "hi", "tolerance"}
    assert not missing, f"the page does not name {sorted(missing)}"


def test_each_error_code_is_sent_and_on_the_page_or_reserved():
    codes = re.search(r"^enum WireErrorCode\n(.*?)\n\n", text_of("common/protocol/tables/errors.def"), flags=re.S | re.M)[1]
    sent, reserved = (set(re.findall(r"^  (\w+)$", part, flags=re.M)) for part in codes.split("# Reserved"))
    code = "\n".join(path.read_text() for house in ("common/protocol", "daemon") for path in (ROOT / house).rglob("*.cc")
                     if not path.name.endswith(("_test.cc", ".gen.cc")))  # fmt: skip
    named = set(re.findall(r"\bWireErrorCode::(\w+)", code))
    assert len(sent) > 8 and named == sent, f"no sender: {sorted(sent - named)}; reserved, but sent: {sorted(named & reserved)}"
    table = text_of("docs/reference/protocol.md").partition("\n| `code` | |")[2].partition("\n\n")[0]
    assert first_cells(table) == sent


def test_what_the_readers_of_gpuemu_toml_set_is_used():
    """Each member of the configuration is named by code that does something with it: what only reads, checks or shows it does not count."""
    users = [path for house in ("daemon", "judge", "cli", "runtime", "ops", "kernels") for path in (ROOT / house).rglob("*.cc")]
    users += [ROOT / "common/config/config.cc", ROOT / "common/config/check_op.cc", ROOT / "common/config/settings.cc"]
    shows = {"project_ops.cc", "config_schema.cc"}
    text = "\n".join(path.read_text() for path in users if not path.name.endswith("_test.cc") and path.name not in shows)
    structs = "\n".join(text_of(f"common/config/{name}.h") for name in ("config", "op_config", "kernel_config", "judging"))
    unused = []
    for struct, body in re.findall(r"^struct (\w+) \{\n(.*?)^\};", structs, flags=re.S | re.M):
        code = re.sub(r"///?[^\n]*", "", body)
        code = re.sub(r"\{[^{}]*\}", "", code)
        for declaration in re.findall(r"^  (?!const |std::string text|static )[\w:<>, ]+? (\w+(?: = [^,;]+)?(?:,\s*\w+(?: = [^,;]+)?)*);", code, flags=re.M):
            for name in re.findall(r"(?:^|,\s*)(\w+)", declaration):
                if not re.search(rf"[.>]{name}\b", text):
                    unused.append(f"{struct}.{name}")
    assert unused == []


def test_the_page_of_strategies_has_every_strategy_and_layout():
    section_of = section("docs/reference/strategies.md", "## Strategies", "## Sizes")
    rows = re.findall(r'GPUEMU_STRATEGY\(\w+, "(\w+)", (Sizes|Values),', text_of(f"{WORDS}/strategies.def"))
    assert len(rows) > 40 and first_cells(section_of) == {name for name, _ in rows}
    kinds = {"Sizes": first_cells(section_of.partition("\n| values |")[0]), "Values": first_cells(section_of.partition("\n| values |")[2])}
    assert kinds == {kind: {name for name, one in rows if one == kind} for kind in kinds}
    layouts = first_cells(section("docs/reference/strategies.md", "## Layouts", "## Following coverage"))
    assert layouts == set(re.findall(r'GPUEMU_MEMORY_LAYOUT\(\w+, "(\w+)"', text_of(f"{WORDS}/memory_layouts.def")))


def test_the_page_of_relations_has_every_invariant_and_relation_with_its_parameters():
    text = text_of("docs/guides/relations.md")
    rows = {name: line for line in text.splitlines() if line.startswith("| `") for name in re.findall(r"`(\w+)`", line.split("|")[1])}
    table = re.findall(r'GPUEMU_(?:INVARIANT|RELATION)\(\w+, "(\w+)", "([\w ]*)", "([\w ]*)"', text_of(f"{WORDS}/invariants.def"))
    assert len(table) > 40
    for name, numbers, texts in table:
        assert name in rows, f"the page has no {name}"
        unnamed = [one for one in f"{numbers} {texts}".split() if f"`{one}`" not in rows[name]]
        assert not unnamed, f"{name} takes {unnamed}, which its row does not name"


def test_the_page_of_validation_has_every_error_scale():
    table = section("docs/internals/validation.md", "## Tolerance", "### Beyond the bound").partition("| name | S |")[2]
    assert first_cells(table) == set(re.findall(r'GPUEMU_ERROR_SCALE\(\w+, "(\w+)"', text_of(f"{WORDS}/error_scales.def")))


def test_the_page_of_findings_has_every_kind_and_no_other():
    kinds = re.findall(r"^GPUEMU_FINDING\(\s*(\w+),", text_of("common/protocol/tables/findings.def"), flags=re.M)
    headings = re.findall(r"^### (\w+)$", text_of("docs/reference/findings.md"), flags=re.M)
    assert len(kinds) > 25 and sorted(headings) == sorted(kinds)


def test_the_page_of_commands_has_every_exit_code():
    codes = re.search(r"enum class ExitCode \{(.*?)\}", text_of("cli/session/session.h"))[1]
    table = text_of("docs/reference/cli.md").partition("| exit code |")[2].partition("\n\n")[0]
    assert re.findall(r"^\| (\d+) \|", table, flags=re.M) == re.findall(r"= (\d+)", codes)


MARK = "<!-- figures: limits of the code, compared by tests/e2e/test_docs_tables.py -->"
# Of each page with the mark: the words around a limit, and where the code has it, in MiB unless a divisor says what else.
LIMITS = {
    "docs/guides/cluster.md": [("working directory, at most {} MiB:", "python/gpuemu/cluster/project.py", "BYTES_MAX")],
    "docs/guides/python-kernels.md": [("a storage of more than {} MiB", "python/gpuemu/device/storages.py", "WHOLE_MOST")],
    "docs/guides/references.md": [("more than {} MiB\nof output", "common/base/limits.h", "kScriptOutputBytesMax"),
                                  ("| more than {} MiB is an error", "common/base/limits.h", "kScriptOutputBytesMax")],
    "docs/guides/run.md": [("the last {} MiB that were freed", "bindings/libcuda/process.cc", "options.freed_bytes_kept"),
                           ("freed more than {} MiB ago", "bindings/libcuda/process.cc", "options.freed_bytes_kept"),
                           ("in at most {} allocations", "bindings/libcuda/allocations.h", "kFreedKept", 1)],
    "docs/guides/tapes.md": [("session ends or {} MiB of newer ones", "daemon/tapes/executor.cc", "kFetchedBytesMax")],
    "docs/reference/cli.md": [("JSON reports, up to {} MiB;", "common/base/service_limits.h", "kSnapshotReplyBytesMax"),
                              ("each up to {} MiB,", "cli/archive/project_files.cc", "kFileBytesMax"),
                              ("all up to {} MiB;", "cli/archive/project_files.cc", "kAllBytesMax"),
                              ("larger than {} MiB or", "cli/archive/archive.h", "kArchiveBytesMax"),
                              ("than {} MiB unpacked", "cli/archive/archive.h", "kUnpackedBytesMax"),
                              ("At most {} cases have their inputs", "cli/commands/ci_pictures.cc", "kPicturesMax", 1),
                              ("Of more than {} between two looks", "daemon/server/job_control.cc", "kFailuresHeldMax", 1)],
    "docs/reference/config.md": [("one beyond {} MiB is warned about", "common/config/check_sizes.cc", "kSlowBytes")],
    "docs/reference/findings.md": [("`malloc` has {} MiB", "common/base/limits.h", "kDeviceHeapBytes"),
                                   # Seventeen bytes of history for every four of a tensor.
                                   ("tensors (beyond {} MiB together)", "common/base/limits.h", "kRaceHistoryBytesMax", 17 << 18)],
    "docs/reference/protocol.md": [("`ListFailures` up to {} MiB in one reply", "common/base/service_limits.h", "kSnapshotReplyBytesMax"),
                                   ("failing cases, up to {} MiB;", "common/base/service_limits.h", "kSnapshotReplyBytesMax")],
}  # fmt: skip


def constant(path, name):
    """The value of `NAME = 5`, `NAME = size_t{64} << 20` and the like."""
    value = re.search(rf"\b{re.escape(name)} = ([^;\n#]+)", text_of(path))[1]
    number, _, shift = re.sub(r"\w+\{(\d+)\}", r"\1", value).partition("<<")
    return int(number) << int(shift or 0)


@pytest.mark.parametrize("page", sorted(LIMITS))
def test_limits_on_pages_are_those_of_the_code(page):
    text = text_of(page)
    assert MARK in text
    for words, path, name, *divisor in LIMITS[page]:
        value = constant(path, name) // (divisor[0] if divisor else 1 << 20)
        assert any(words.format(shown) in text for shown in (f"{value}", f"{value:,}")), f"{words!r}: {name} of {path} is {value}"
    prose = re.sub(r"```.*?```|`[^`\n]*`", "", text, flags=re.S)
    sizes = re.findall(r"\b\d[\d,.]* ?(?:MB|GB|MiB)\b", prose)
    assert len(sizes) == sum("{} MiB" in words for words, *_ in LIMITS[page]), f"{sizes} of {page}: compare each with the code"


def test_pages_with_the_mark_are_compared():
    marked = {str(page.relative_to(ROOT)) for page in (ROOT / "docs").rglob("*.md") if MARK in page.read_text()}
    assert marked == set(LIMITS)
