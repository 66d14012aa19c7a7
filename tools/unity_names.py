"""Finds names that clash when the files of a folder are compiled together.

A cold build (GPUEMU_UNITY in cmake/GpuemuLibrary.cmake) combines the files of a folder into one
translation unit, in which two unnamed namespaces are one. This finds names that two of them define:
types, constants, and functions with the same parameters; equal aliases may repeat. It reads definitions
that begin in the first column, as clang-format places them; the compiler finds the rest.
"""
import re

CONSTANT = re.compile(r"(?:(?:static|inline|constexpr|const|thread_local)\s+)+[\w:<>,&*\s]+?\b(\w+)(?:\[[^\]]*\])*\s*[={]")
TYPE = re.compile(r"(?:template\s*<[^>]*>\s*)?(?:struct|class|enum class|enum)\s+(\w+)\b[^;(]*?[={]")
FUNCTION = re.compile(r"[\w:<>,&*\s\[\]]+?[\s&*](\w+)\(([^{};]*)\)\s*(?:const\s*)?(?:noexcept\s*)?\{")
BEGINS = re.compile(r"[A-Za-z]")


def expanded(cmake_text):
    """Replaces each ${NAME} by the words of set(NAME ...), with the prefix of list(TRANSFORM NAME PREPEND ...)."""
    prefixes = dict(re.findall(r"list\(TRANSFORM (\w+) PREPEND ([\w/]+)\)", cmake_text))
    for name, words in re.findall(r"^set\((\w+)\s([^)]*)\)", cmake_text, re.M):
        cmake_text = cmake_text.replace("${" + name + "}", " ".join(prefixes.get(name, "") + word for word in words.split()))
    return cmake_text


def compiled_together(cmake_text):
    """Yields the sources of each gpuemu_library() whose files a cold build compiles together."""
    for body in re.findall(r"gpuemu_library\(\w+([^)]*)\)", expanded(cmake_text)):
        words, section, lists = body.split(), "", {}
        for word in words:
            if word.isupper():
                section = word
                lists.setdefault(word, [])
            else:
                lists.setdefault(section, []).append(word)
        if "NO_UNITY" in lists or ("HOT" in lists and "UNITY" not in lists):
            continue
        alone = set(lists.get("ALONE", []))
        yield [source for source in lists.get("SOURCES", []) if source not in alone and "$" not in source]


def unnamed_parts(text):
    """Yields (line number, text) of each unnamed namespace that begins in the first column."""
    for match in re.finditer(r"^namespace \{\n(.*?)^\}  // namespace$", text, re.M | re.S):
        yield text.count("\n", 0, match.start(1)) + 1, match[1]


def key_of(definition):
    """Returns the key that two definitions must not share, or None: the name, with the types of its
    parameters if it is a function."""
    for kind in (TYPE, CONSTANT):
        match = kind.match(definition)
        if match:
            return match[1]
    match = FUNCTION.match(definition)
    if not match or match[1] in ("if", "for", "while", "switch"):
        return None
    params = [re.sub(r"\s*\b\w+$", "", " ".join(param.split("=")[0].split())) for param in match[2].split(",")]
    return f"{match[1]}({', '.join(params)})"


def names_of(text):
    """Yields (line number, key) of the definitions in the unnamed namespaces of one file."""
    for first, part in unnamed_parts(text):
        lines = part.splitlines()
        for index, line in enumerate(lines):
            if not BEGINS.match(line):
                continue
            key = key_of(" ".join(lines[index:index + 6]))
            if key:
                yield first + index, key


def check(root, folders, report):
    """Reports each name that two files of a folder both define."""
    for folder in folders:
        for sources in compiled_together((root / folder / "CMakeLists.txt").read_text()):
            seen = {}
            for source in sources:
                for number, key in names_of((root / folder / source).read_text()):
                    if key in seen and seen[key][0] != source:
                        other, line = seen[key]
                        report(f"{folder}/{source}:{number}: '{key}' is also in {other}:{line}, and a cold build compiles both together: "
                               "rename one, or name its file in ALONE")
                    seen.setdefault(key, (source, number))
