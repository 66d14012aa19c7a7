// Private to this folder: the members of the records of ci.def. See fields.h for the words.
// Written by tools/make_protocol.py from ci.def; edit that and run it again.
// clang-format off
#pragma once

#include "common/codec/fields.h"
#include "common/codec/fields_artifacts.gen.h"
#include "common/codec/fields_evidence.gen.h"
#include "common/codec/fields_records.gen.h"
#include "common/protocol/ci.gen.h"

namespace gpuemu {

template <typename V, Is<CaseSample> R>
void fields(V& v, R& r) {
  v.required("elements", r.elements);
  v.diff("max_diff", r.max_diff);
  v.diff("error_use", r.bound_ratio);
  v.required("values", r.values);
  v.required("passed", r.passed);
}

template <typename V, Is<CiOp> R>
void fields(V& v, R& r) {
  v.required("op_name", r.op_name);
  v.required("dtype", r.dtype);
  v.extra("kernel", r.kernel);
  v.required("cases", r.cases);
  v.required("passed", r.passed);
  v.required("failed", r.failed);
  v.extra("replayed", r.replayed);
  v.extra("cached", r.cached);
  v.extra("skipped_reason", r.skipped_reason);
  v.extra("error", r.error);
  v.optional("duration_ms", r.duration_ms);
  v.diff("max_diff", r.max_diff);
  v.diff("worst_error_use", r.bound_ratio_max);
  v.extra("file", r.file);
  v.extra("line", r.line);
  v.extra("proof", r.evidence);
  v.extra("state", r.state);
  v.extra("samples", r.samples);
}

template <typename V, Is<ErrorMap> R>
void fields(V& v, R& r) {
  v.required("op_name", r.op_name);
  v.required("output", r.output);
  v.required("seed", r.seed);
  v.required("dtype", r.dtype);
  v.required("shape", r.shape);
  v.required("rows", r.rows);
  v.required("columns", r.columns);
  v.required("cells", r.cells);
  v.required("distribution", r.distribution);
  v.extra("bound", r.bound);
}

template <typename V, Is<TrendPoint> R>
void fields(V& v, R& r) {
  v.required("timestamp", r.timestamp);
  v.extra("label", r.label);
  v.required("registers", r.registers);
  v.optional("spill_bytes", r.spill_bytes);
  v.optional("stack_bytes", r.stack_bytes);
  v.optional("shared_bytes", r.shared_bytes);
  v.optional("instructions", r.instructions);
}

template <typename V, Is<KernelTrend> R>
void fields(V& v, R& r) {
  v.required("kernel_name", r.kernel_name);
  v.extra("arch", r.arch);
  v.required("points", r.points);
}

template <typename V, Is<CiRunSummary> R>
void fields(V& v, R& r) {
  v.required("total_tests", r.total_tests);
  v.required("passed", r.passed);
  v.required("failed", r.failed);
  v.required("skipped", r.skipped);
  v.required("duration_ms", r.duration_ms);
  v.required("timestamp", r.timestamp);
  v.required("validation_results", r.validation_results);
  v.required("lint_results", r.lint_results);
  v.optional("artifact_diffs", r.artifact_diffs);
  v.extra("profile", r.profile);
  v.extra("seed", r.seed);
  v.extra("shard", r.shard);
  v.extra("shards", r.shards);
  v.extra("backend", r.backend);
  v.extra("device", r.device);
  v.extra("ops", r.ops);
  v.extra("kernels_cached", r.kernels_cached);
  v.extra("regressions_pass", r.regressions_pass);
  v.extra("result_diffs", r.result_diffs);
  v.extra("notes", r.notes);
  v.extra("coverage", r.coverage);
  v.extra("worst", r.worst);
  v.extra("trends", r.trends);
  v.extra("incomplete", r.incomplete);
  v.extra("error", r.error);
  v.extra("execution", r.execution);
}

}  // namespace gpuemu
