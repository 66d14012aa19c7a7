// Private to this folder: the members of the records of artifacts.def. See fields.h for the words.
// Written by tools/make_protocol.py from artifacts.def; edit that and run it again.
// clang-format off
#pragma once

#include "common/codec/fields.h"
#include "common/protocol/artifacts.gen.h"

namespace gpuemu {

template <typename V, Is<EntryParam> R>
void fields(V& v, R& r) {
  v.required("name", r.name);
  v.required("type", r.type);
  v.required("bytes", r.bytes);
}

template <typename V, Is<PtxMetrics> R>
void fields(V& v, R& r) {
  v.required("entry", r.entry);
  v.optional("target", r.target);
  v.extra("source_file", r.source_file);
  v.extra("source_line", r.source_line);
  v.optional("registers", r.registers);
  v.optional("instructions", r.instructions);
  v.optional("classes", r.classes);
  v.optional("loads", r.loads);
  v.optional("stores", r.stores);
  v.optional("special_functions", r.special_functions);
  v.optional("barriers", r.barriers);
  v.optional("atomics", r.atomics);
  v.optional("tensor_ops", r.tensor_ops);
  v.optional("ftz", r.ftz);
  v.optional("approx", r.approx);
  v.optional("branches", r.branches);
  v.optional("divergent_branches", r.divergent_branches);
  v.optional("loops", r.loops);
  v.optional("loop_depth", r.loop_depth);
  v.optional("back_edges", r.back_edges);
  v.optional("shared_bytes", r.shared_bytes);
  v.optional("local_bytes", r.local_bytes);
  v.optional("const_bytes", r.const_bytes);
  v.optional("dynamic_shared", r.dynamic_shared);
  v.optional("constants", r.constants);
  v.optional("params", r.params);
}

template <typename V, Is<Occupancy> R>
void fields(V& v, R& r) {
  v.required("threads", r.threads);
  v.optional("dynamic_shared_bytes", r.dynamic_shared_bytes);
  v.required("blocks", r.blocks);
  v.required("warps", r.warps);
  v.required("warps_max", r.warps_max);
  v.required("fraction", r.fraction);
  v.optional("limiter", r.limiter);
}

template <typename V, Is<CompiledMetrics> R>
void fields(V& v, R& r) {
  v.required("arch", r.arch);
  v.required("registers", r.registers);
  v.optional("stack_bytes", r.stack_bytes);
  v.optional("spill_store_bytes", r.spill_store_bytes);
  v.optional("spill_load_bytes", r.spill_load_bytes);
  v.optional("barriers", r.barriers);
  v.optional("shared_bytes", r.shared_bytes);
  v.optional("constant_bytes", r.constant_bytes);
  v.optional("occupancy", r.occupancy);
  v.extra("sass_instructions", r.sass_instructions);
  v.extra("sass_classes", r.sass_classes);
  v.extra("sass_control", r.sass_control);
}

template <typename V, Is<ArtifactMetrics> R>
void fields(V& v, R& r) {
  v.required("kernel_name", r.kernel_name);
  v.required("register_count", r.register_count);
  v.required("spill_count", r.spill_count);
  v.required("local_memory_bytes", r.local_memory_bytes);
  v.required("shared_memory_bytes", r.shared_memory_bytes);
  v.required("instruction_count", r.instruction_count);
  v.required("patterns_found", r.patterns_found);
  v.required("source", r.source);
  v.required("timestamp", r.timestamp);
  v.extra("last_seen", r.last_seen);
  v.optional("ptx_content", r.ptx_content);
  v.extra("ptx", r.ptx);
  v.extra("compiled", r.compiled);
  v.extra("user", r.user);
  v.extra("project", r.project);
}

template <typename V, Is<LintViolation> R>
void fields(V& v, R& r) {
  v.required("kind", r.kind);
  v.required("message", r.message);
  v.optional("actual", r.actual);
  v.optional("threshold", r.threshold);
  v.extra("check", r.check);
  v.extra("arch", r.arch);
  v.extra("value", r.value);
  v.extra("limit", r.limit);
  v.extra("source_file", r.source_file);
  v.extra("source_line", r.source_line);
}

template <typename V, Is<LintResult> R>
void fields(V& v, R& r) {
  v.required("kernel_name", r.kernel_name);
  v.required("passed", r.passed);
  v.required("metrics", r.metrics);
  v.required("violations", r.violations);
  v.required("timestamp", r.timestamp);
  v.extra("source", r.source);
  v.extra("not_checked", r.not_checked);
  v.extra("error", r.error);
}

template <typename V, Is<MetricChange> R>
void fields(V& v, R& r) {
  v.required("metric", r.metric);
  v.extra("arch", r.arch);
  v.required("before", r.before);
  v.required("after", r.after);
  v.optional("percent", r.percent);
  v.required("verdict", r.verdict);
}

template <typename V, Is<ArtifactDiff> R>
void fields(V& v, R& r) {
  v.required("kernel_name", r.kernel_name);
  v.optional("baseline", r.baseline);
  v.required("current", r.current);
  v.required("register_delta", r.register_delta);
  v.required("spill_delta", r.spill_delta);
  v.required("local_memory_delta", r.local_memory_delta);
  v.required("instruction_delta", r.instruction_delta);
  v.required("is_regression", r.is_regression);
  v.extra("changes", r.changes);
  v.extra("constants", r.constants);
}

template <typename V, Is<ArtifactDiffSummary> R>
void fields(V& v, R& r) {
  v.required("baseline_tag", r.baseline_tag);
  v.required("has_regressions", r.has_regressions);
  v.required("diffs", r.diffs);
  v.extra("missing", r.missing);
}

template <typename V, Is<ArtifactMetricsResultReply> R>
void fields(V& v, R& r) {
  fields(v, r.metrics);
}

template <typename V, Is<ArtifactListReply> R>
void fields(V& v, R& r) {
  v.required("artifacts", r.artifacts);
}

template <typename V, Is<ArtifactDiffsReply> R>
void fields(V& v, R& r) {
  fields(v, r.summary);
}

}  // namespace gpuemu
