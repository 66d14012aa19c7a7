"""The dataclasses have the members that the daemon sends: those of the wire's records in common/protocol."""

import dataclasses
import pathlib
import re
import typing

import pytest

from gpuemu import records

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Dataclass -> the wire's record, members that only the wire has, members that only Python has.
PAIRS = {
    "Finding": ("ValidationFailure", set(), set()),
    "ReproductionInfo": ("ReproductionInfo", set(), set()),
    "ValidationResult": ("ValidationResult", set(), {"compared"}),  # Arrays of a comparison in this process.
    "FuzzResults": ("FuzzResultsReply", set(), set()),
    "ReproduceResult": ("ReproduceResultReply", set(), set()),
    "MinimizeResult": ("MinimizeResultReply", set(), set()),
    "OpReport": ("OpTestReport", set(), set()),
    "TestReport": ("TestReportReply", set(), set()),
    "Comparison": ("BaselineComparison", set(), set()),
    "BaselineComparison": ("BaselineComparisonReply", set(), set()),
    "DeviceInfo": ("DeviceInfo", set(), set()),
    "DaemonStatus": ("DaemonStatusReply", set(), set()),
    "JobStatus": ("JobStatusReply", set(), set()),
    "TestCase": ("TestCase", set(), set()),
}


def wire_members():
    """Members by record, from the tables that read and write them."""
    found = {}
    for path in sorted((ROOT / "common/protocol").glob("fields*.h")):
        text = path.read_text()
        for match in re.finditer(r"Is<(\w+)> R>\s*\nvoid fields\(V&(?: v)?, R&(?: r)?\) \{(.*?)\n?\}\n", text, re.DOTALL):
            found[match[1]] = re.findall(r"v\.\w+\(\s*\"(\w+)\"", match[2])
    return found


WIRE = wire_members()


def test_the_tables_of_the_wire_are_read():
    assert len(WIRE) > 40 and "max_diff" in WIRE["ValidationResult"]


@pytest.mark.parametrize("name", PAIRS)
def test_a_dataclass_has_the_members_of_its_record(name):
    record, wire_only, python_only = PAIRS[name]
    cls = getattr(records, name)
    mine = set(typing.get_type_hints(cls)) if typing.is_typeddict(cls) else {one.name for one in dataclasses.fields(cls)}
    theirs = set(WIRE[record])
    assert theirs - mine == wire_only, "the daemon sends members that Python drops"
    assert mine - theirs == python_only, "Python has members that the daemon never sends"
