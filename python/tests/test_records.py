"""Tests that the dataclasses have the members that the daemon sends: those of the records in common/protocol."""

import dataclasses
import json
import pathlib
import typing

import pytest

from gpuemu.client import artifacts, ci, reading, records, replies

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Dataclass -> the wire's record, members that only the wire has, members that only Python has.
PAIRS = {
    "Finding": ("ValidationFailure", set(), set()),
    "ReproductionInfo": ("ReproductionInfo", set(), set()),
    "ValidationResult": ("ValidationResult", set(), {"compared", "flushed"}),  # For a comparison in this process.
    "FuzzResults": ("FuzzResultsReply", {"results", "reports"}, set()),
    "ReproduceResult": ("ReproduceResultReply", set(), set()),
    "MinimizeResult": ("MinimizeResultReply", set(), set()),
    "OpReport": ("OpTestReport", set(), set()),
    "TestReport": ("TestReportReply", {"results"}, set()),
    "Comparison": ("BaselineComparison", set(), set()),
    "BaselineComparison": ("BaselineComparisonReply", set(), set()),
    "DeviceInfo": ("DeviceInfo", set(), set()),
    "DaemonStatus": ("DaemonStatusReply", set(), set()),
    "JobStatus": ("JobStatusReply", set(), set()),
    "TestCase": ("TestCase", set(), set()),
}
OTHERS = {
    artifacts: {"ArtifactDiffs": "ArtifactDiffSummary", "Baseline": "BaselineReply"},
    ci: {"CiSummary": "CiRunSummary"},
    replies: {"ExplainResult": "ExplainResultReply", "StoredCase": "CaseReply", "ExportedCase": "ExportedCaseReply", "Mutant": "MutantReport",
              "KernelCoverage": "KernelCoverageReply", "Projects": "ProjectsReply", "StorageClaimed": "StorageClaimedReply", "StorageStatus": "StorageStatusReply", "StoragePruned": "StoragePrunedReply",
              "StorageReport": "StorageReportReply", "StorageCompacted": "StorageCompactedReply", "Calibration": "CalibrationReply", "MutationReport": "MutationReportReply",
              "KernelComparison": "KernelComparisonReply", "BoundsReport": "BoundsReportReply",
              "LaunchBounds": "LaunchBounds", "AccessBounds": "ProvedAccess"},
}  # fmt: skip


def wire_members():
    """Returns members by record, from the tables of the protocol."""
    protocol = json.loads((ROOT / "docs/reference/protocol.json").read_text())
    found = {name: one["members"] for name, one in protocol["records"].items()}
    found |= {f"{name}Reply": one["members"] for name, one in protocol["replies"].items()}
    return {name: [one["name"] for one in members] for name, members in found.items()}


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


@pytest.mark.parametrize("module", OTHERS, ids=lambda module: module.__name__)
def test_every_dataclass_of_a_module_has_the_members_of_its_record(module):
    own = [one for one in vars(module).values() if dataclasses.is_dataclass(one) and one.__module__ == module.__name__]
    assert own
    for cls in own:
        assert {one.name for one in dataclasses.fields(cls)} == set(WIRE[OTHERS[module].get(cls.__name__, cls.__name__)]), cls


def test_records_in_records_become_dataclasses_and_unknown_members_are_left_out():
    step = {"kind": "absorbs", "line": 4, "result": {"name": "%f1", "computed": 1.5, "exact": None}, "operands": [{"computed": 2.0}], "new": 1}
    found = reading.read(replies.ExplainResult, {"type": "ExplainResult", "seed": 3, "slice": [step], "divergence": None, "index": None})
    assert found.slice[0].operands == [replies.ExplainedValue(computed=2.0)] and found.slice[0].result.name == "%f1"
    assert (found.seed, found.divergence, found.index, found.complete) == (3, None, 0, True)
    exported = reading.read(replies.ExportedCase, {"inputs": {"x": {"shape": [1], "dtype": "int8", "data": "Bw=="}}, "result": {"seed": 9},
                                                   "launches": [{"args": [{"text": "n", "bytes": "AQI="}]}]})
    assert exported.inputs["x"].tolist() == [7] and exported.result.seed == 9 and exported.launches[0].args[0].bytes == b"\x01\x02"


def test_a_record_is_sent_without_members_that_are_none():
    metrics = artifacts.ArtifactMetrics("k", 3, ptx=artifacts.PtxMetrics("k", registers={"f32": 2}))
    sent = reading.plain(metrics)
    assert sent["ptx"]["registers"] == {"f32": 2} and "ptx_content" not in sent and sent["compiled"] == []
    assert reading.read(artifacts.ArtifactMetrics, sent) == metrics
