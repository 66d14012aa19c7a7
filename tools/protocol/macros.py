"""Reads tables that C++ includes: rows MACRO(word, "text", ...) of a .def file."""
import re

TOKEN = re.compile(r'\s*(?:("(?:[^"\\]|\\.)*")|(\w+)|([,()]))')


class RowError(Exception):
    """An error in a table, with its place."""


def rows_of(path, macro):
    """Returns the arguments of every MACRO(...) of a table as text; adjacent string literals are
    joined."""
    text = re.sub(r"^//.*$", "", path.read_text(), flags=re.M)
    rows = []
    for start in re.finditer(rf"^{macro}\(", text, flags=re.M):
        values, at, closed = [""], start.end(), False
        while not closed and (match := TOKEN.match(text, at)):
            at, closed = match.end(), match[3] == ")"
            if match[3] == ",":
                values.append("")
            elif not closed:
                values[-1] += re.sub(r"\\(.)", r"\1", match[1][1:-1]) if match[1] else match[2] or ""
        if not closed:
            raise RowError(f"{path.name}: {macro}({values[0]}: expected words, text and commas up to a closing bracket")
        rows.append(values)
    return rows
