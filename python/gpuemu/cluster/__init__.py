"""Runs of many cases on the nodes of a Ray cluster (extra `[ray]`), with the results of a run on this machine.

    results = gpuemu.cluster.fuzz("path/to/project", "softmax", iterations=100_000, seed=1, address="auto")
    print(results.failed, results.nodes)
"""

from gpuemu.cluster.fuzzing import ClusterFuzzResults, fuzz
from gpuemu.cluster.runs import Node
from gpuemu.cluster.testing import ClusterTestReport, test

__all__ = ["ClusterFuzzResults", "ClusterTestReport", "Node", "fuzz", "test"]
