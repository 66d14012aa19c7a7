#!/usr/bin/env python3
"""Writes docs/schemas/ci.schema.json, the form of `gpuemu ci --format json`: the members, and which are
always present, from the tables of the protocol; their types from the Python records.

  tools/ci_schema.py [--check]      --check: exit code 1 when the file is not what the tables say
"""
import dataclasses
import json
import pathlib
import sys
import types
import typing

ROOT = pathlib.Path(__file__).resolve().parent.parent
FILE = ROOT / "docs/schemas/ci.schema.json"
sys.path.insert(0, str(ROOT / "python"))
# Python's name -> the name in the protocol, if they differ.
WIRE_NAMES = {"CiSummary": "CiRunSummary", "ArtifactDiffs": "ArtifactDiffSummary", "Finding": "ValidationFailure",
              "Comparison": "BaselineComparison", "Vote": "Disagreement", "VoteSide": "DisagreementSide"}  # fmt: skip
# Members that Python does not convert, with their record in the protocol.
PLAIN = {("ValidationResult", "error_stats"): "ErrorStats", ("CiOp", "proof"): "Evidence"}
UNSIGNED = {"type": "integer", "minimum": 0}
NUMBER = {"type": "number"}
TEXT = {"type": "string"}
DIGITS = {"type": "string", "pattern": "^[0-9]+$"}
COUNTS = {"type": "object", "additionalProperties": UNSIGNED}
# The members of those records, for which Python has no classes.
PLAIN_TYPES = {
    "ErrorStats": {name: {"type": ["number", "null"]} for name in ("max_abs", "mean_abs", "p50_abs", "p90_abs", "p99_abs", "max_rel",
                                                                "mean_rel", "mean_ulp", "mean_signed_ulp")}
    | {name: UNSIGNED for name in ("count", "num_exceeding", "max_ulp")},
    "Evidence": {"dtype": TEXT, "judged": UNSIGNED, "telling": UNSIGNED, "exact": UNSIGNED, "trivial": COUNTS, "strategies": COUNTS,
              "failure_limit": {"type": ["number", "null"]}, "up_to": COUNTS, "largest": COUNTS},
}  # fmt: skip
# Sent only in pieces of a run, which no report shows.
LEFT_OUT = {"Evidence": {"counts"}}
# Signed integers; all others count something.
SIGNED = {"timestamp", "index", "register_delta", "spill_delta", "local_memory_delta", "instruction_delta", "shape", "strides", "dims", "input_strides"}


def is_seed(member):
    """The command line also writes these as text, because JavaScript's numbers cannot hold them."""
    return member == "seed" or member.endswith("_seed")


def wire_tables():
    """Returns record -> member -> presence: required, optional (may be missing when read), extra (left
    out when empty), diff."""
    records = json.loads((ROOT / "docs/reference/protocol.json").read_text())["records"]
    return {name: {member["name"]: member["presence"] for member in one["members"]} for name, one in records.items()}


class Schema:
    def __init__(self):
        self.tables = wire_tables()
        self.definitions = {}

    def of_type(self, hint, member):
        origin, arguments = typing.get_origin(hint), typing.get_args(hint)
        if origin in (typing.Union, types.UnionType):
            [inner] = [one for one in arguments if one is not type(None)]
            return {"anyOf": [self.of_type(inner, member), {"type": "null"}]}
        if origin is list:
            return {"type": "array", "items": self.of_type(arguments[0], member)}
        if origin is dict:
            values = {} if arguments[1] is typing.Any else self.of_type(arguments[1], member)
            return {"type": "object", "additionalProperties": values}
        if dataclasses.is_dataclass(hint):
            return self.of_record(hint)
        if hint is int:
            return {"type": "integer"} if member in SIGNED else UNSIGNED
        return {bool: {"type": "boolean"}, str: TEXT, float: NUMBER, bytes: TEXT}[hint]

    def of_record(self, cls):
        name = WIRE_NAMES.get(cls.__name__, cls.__name__)
        if name not in self.definitions:
            self.definitions[name] = {}  # For a record that contains itself.
            hints = typing.get_type_hints(cls)
            members = {}
            for member in self.tables[name]:
                members[member] = self.plain_or_typed(cls, member, hints[member])
                if is_seed(member):
                    members[f"{member}_text"] = DIGITS
            self.definitions[name] = self.object_of(name, members)
        return {"$ref": f"#/$defs/{name}"}

    def plain_or_typed(self, cls, member, hint):
        record = PLAIN.get((cls.__name__, member))
        if record is None:
            return self.of_type(hint, member)
        self.definitions[record] = self.object_of(record, PLAIN_TYPES[record])
        return {"anyOf": [{"$ref": f"#/$defs/{record}"}, {"type": "null"}]}

    def object_of(self, name, members):
        always = [member for member, kind in self.tables[name].items() if kind != "extra"]
        written = {member for member in members if not (member.endswith("_text") and is_seed(member.removesuffix("_text")))}
        assert written == set(self.tables[name]) - LEFT_OUT.get(name, set()), f"{name}: {written ^ set(self.tables[name])}"
        return {"type": "object", "properties": members, "required": always}


def text():
    from gpuemu.client.ci import CiSummary

    schema = Schema()
    root = schema.of_record(CiSummary)
    whole = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "gpuemu ci --format json",
             "description": "Members that are not listed may follow in later versions. See docs/reference/protocol.md, RunCi.",
             **root, "$defs": dict(sorted(schema.definitions.items()))}  # fmt: skip
    return json.dumps(whole, indent=1) + "\n"


def main():
    made = text()
    if sys.argv[1:] == ["--check"]:
        if FILE.is_file() and FILE.read_text() == made:
            return 0
        print(f"{FILE.relative_to(ROOT)} is not what the tables say; run tools/ci_schema.py", file=sys.stderr)
        return 1
    FILE.parent.mkdir(exist_ok=True)
    FILE.write_text(made)
    return 0


if __name__ == "__main__":
    sys.exit(main())
