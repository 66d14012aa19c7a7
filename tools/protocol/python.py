"""Generates the Python side of the protocol's tables: dataclasses of python/gpuemu/client."""
import textwrap

from protocol.tables import Constant, Enum, Record, element

FOLDER = "python/gpuemu/client"
WIDTH = 130
PURPOSES = {
    "replies": "Answers about kernels and their cases, as dataclasses; what runs of cases answer is in gpuemu.client.records, metrics of "
               "compiled code in gpuemu.client.artifacts. Numbers that are not finite come as None.",
    "artifacts": "Metrics of compiled code, their limits and baselines, as dataclasses.",
    "ci": "What a CI run answers, as dataclasses.",
}
HINTS = {"text": "str", "bool": "bool", "u64": "int", "u32": "int", "i64": "int", "f64": "float", "bytes": "Bytes", "tensor": "Array",
         "tensors": "dict[str, Array]", "dtype": "str", "shape": "list[int]", "strides": "list[int]"}
EMPTY = {"text": '""', "bool": "False", "u64": "0", "u32": "0", "i64": "0", "bytes": 'b""', "dtype": '""'}


class Python:
    """Finds the Python class of each record: the module and class in its row."""

    def __init__(self, protocol):
        self.protocol = protocol
        self.enums = {one.name: one for one in protocol.all(Enum)}
        self.classes = {one.name: one.python.partition(".")[::2] for one in protocol.all(Record) if one.python and one.kind == "record"}

    def of(self, module):
        return [one for one in self.protocol.all(Record) if one.python.startswith(f"{module}.")]

    def base(self, name):
        if name in HINTS:
            return HINTS[name]
        if name in self.enums:
            return "str"
        return self.classes[name][1] if name in self.classes else "dict[str, Any]"

    def hint(self, member):
        holds = member.options.get("holds")
        return self.hint_of(holds or member.type, member)

    def hint_of(self, name, member):
        if name.endswith("?"):
            return f"{self.hint_of(name[:-1], member).removesuffix(' | None')} | None"
        if name.endswith("[]"):
            return f"list[{self.hint_of(name[:-2], member)}]"
        if name.endswith("{}"):
            return f"dict[str, {self.hint_of(name[:-2], member)}]"
        if name == "f64" and "finite" not in member.options:
            return "float | None"
        return self.base(name)

    def default(self, member):
        name = member.options.get("holds", member.type)
        if name.endswith("?"):
            return "None"
        if name.endswith("[]") or name in ("shape", "strides"):
            return "field(default_factory=list)"
        if name.endswith("{}") or name == "tensors":
            return "field(default_factory=dict)"
        if name == "f64":
            return member.default or ("0.0" if "finite" in member.options or member.presence == "diff" else "None")
        if name == "bool" and member.default:
            return member.default.capitalize()
        if name in self.enums:
            first = {row.name: row.wire for row in self.enums[name].rows}.get(member.default, self.enums[name].rows[0].wire)
            return f'"{first}"' if "Source" in name else '""'
        if member.default.startswith("k"):
            return next(one.value for one in self.protocol.all(Constant) if one.name == member.default)
        if name in EMPTY:
            return member.default or EMPTY[name]
        return f"field(default_factory={self.base(name)})"

    def names_of(self, member):
        """Returns the values of an enumeration: "input", "output" or "scratch"."""
        if member.type not in self.enums:
            return ""
        names = [f'"{row.wire.lower() if member.presence == "lower" else row.wire}"' for row in self.enums[member.type].rows]
        return " or ".join(filter(None, (", ".join(names[:-1]), names[-1])))

    def imports(self, module):
        """Returns module -> names that the classes of `module` use."""
        found = {}
        for record in self.of(module):
            for member in record.members:
                home, name = self.classes.get(element(member.options.get("holds", member.type)), ("", ""))
                if home and home != module:
                    found.setdefault(home, set()).add(name)
        return found

    def dataclass(self, record):
        name = record.python.partition(".")[2]
        parent = f"(extras.{name})" if record.methods else ""
        text = record.python_doc.strip() or record.doc
        lines = ["@dataclass", f"class {name}{parent}:"]
        lines += textwrap.wrap(f'"""{text}"""', WIDTH - 4, initial_indent="    ", subsequent_indent="    ", break_on_hyphens=False)
        lines.append("")
        for member in record.members:
            line = f"    {member.wire}: {self.hint(member)} = {self.default(member)}"
            doc = member.doc or self.names_of(member)
            comment = f"  # {doc}" if doc and len(line) + 4 + len(doc) <= WIDTH else ""
            lines.append(line + comment)
        return lines

    def module(self, name):
        records = self.of(name)
        body = [line for record in records for line in ["", "", *self.dataclass(record)]]
        text = "\n".join(body)
        lines = ['"""' + "\n".join(textwrap.wrap(PURPOSES[name], WIDTH)), "",
                 "Written by tools/make_protocol.py from common/protocol/tables/*.def; edit those and run it again.", '"""', "",
                 "from __future__ import annotations", "", "from dataclasses import dataclass, field"]
        lines += ["from typing import Any"] if "Any" in text else []
        lines += [""]
        lines += ["from gpuemu.client import extras"] if any(one.methods for one in records) else []
        lines += [f"from gpuemu.client.{home} import {', '.join(sorted(names))}" for home, names in sorted(self.imports(name).items())]
        lines += ["from gpuemu.tensors import Array"] if "Array" in text else []
        lines += ["", "Bytes = bytes  # Beside a member of that name."] if "Bytes" in text else []
        return "\n".join([*lines, *body]) + "\n"


def files(protocol):
    python = Python(protocol)
    return {f"{FOLDER}/{module}.py": python.module(module) for module in PURPOSES}
