// Private to this folder: the members of the records of records.def. See fields.h for the words.
// Written by tools/make_protocol.py from records.def; edit that and run it again.
// clang-format off
#pragma once

#include "common/base/limits.h"
#include "common/base/service_limits.h"
#include "common/codec/fields.h"
#include "common/protocol/records.gen.h"

namespace gpuemu {

template <typename V, Is<ExplainedValue> R>
void fields(V& v, R& r) {
  v.extra("name", r.name);
  v.required("computed", r.computed);
  v.required("exact", r.exact);
  v.required("bound", r.bound);
}

template <typename V, Is<ExplainedStep> R>
void fields(V& v, R& r) {
  v.required("kind", r.kind);
  v.required("instruction", r.instruction);
  v.required("file", r.file);
  v.required("line", r.line);
  v.required("ptx_line", r.ptx_line);
  v.required("block", r.block);
  v.required("thread", r.thread);
  v.required("visit", r.visit);
  v.required("count", r.count);
  v.required("result", r.result);
  v.required("operands", r.operands);
}

template <typename V, Is<ExplainedOutput> R>
void fields(V& v, R& r) {
  v.required("name", r.name);
  v.required("elements", r.elements);
  v.required("wrong", r.wrong);
  v.required("logic", r.logic);
  v.required("numerical", r.numerical);
  v.required("rounding", r.rounding);
}

template <typename V, Is<DisagreementSide> R>
void fields(V& v, R& r) {
  v.required("name", r.name);
  v.required("value", r.value);
}

template <typename V, Is<Disagreement> R>
void fields(V& v, R& r) {
  v.required("alone", r.dissenter);
  v.required("sentence", r.sentence);
  v.required("sides", r.sides);
}

template <typename V, Is<Diagnosis> R>
void fields(V& v, R& r) {
  v.required("verdict", r.verdict);
  v.required("note", r.note);
  v.extra("divergence", r.divergence);
  v.extra("vote", r.disagreement);
}

template <typename V, Is<ValidationFailure> R>
void fields(V& v, R& r) {
  v.required("kind", r.kind);
  v.required("message", r.message);
  v.optional("index", r.index);
  v.optional("expected", r.expected);
  v.optional("actual", r.actual);
  v.extra("output", r.output);
  v.extra("source_file", r.source_file);
  v.extra("source_line", r.source_line);
  v.extra("diagnosis", r.diagnosis);
}

template <typename V, Is<ErrorStats> R>
void fields(V& v, R& r) {
  v.required("count", r.count);
  v.required("num_exceeding", r.num_exceeding);
  v.required("max_abs", r.max_abs);
  v.required("mean_abs", r.mean_abs);
  v.required("p50_abs", r.p50_abs);
  v.required("p90_abs", r.p90_abs);
  v.required("p99_abs", r.p99_abs);
  v.required("max_rel", r.max_rel);
  v.required("mean_rel", r.mean_rel);
  v.required("max_ulp", r.max_ulp);
  v.required("mean_ulp", r.mean_ulp);
  v.extra("mean_signed_ulp", r.mean_signed_ulp);
}

template <typename V, Is<OpSchema::Dim> R>
void fields(V& v, R& r) {
  v.required("name", r.name);
  v.required("candidates", r.candidates);
}

template <typename V, Is<OpSchema::TensorDims> R>
void fields(V& v, R& r) {
  v.required("name", r.name);
  v.required("dims", r.dims);
}

template <typename V, Is<OpSchema> R>
void fields(V& v, R& r) {
  v.required("name", r.name);
  v.required("dims", r.dims);
  v.required("inputs", r.inputs);
  v.optional("output", r.output);
}

/// FuzzConfig.shape_options, an object of its own on the wire.
template <typename R>
struct FuzzConfigShapeOptions {
  R& record;
};
template <typename V, typename R>
void fields(V& v, const FuzzConfigShapeOptions<R>& r) {
  v.required("batch_sizes", r.record.batch_sizes);
  v.required("seq_lengths", r.record.seq_lengths);
  v.required("hidden_dims", r.record.hidden_dims);
  v.required("edge_cases", r.record.edge_cases);
}

template <typename V, Is<FuzzConfig> R>
void fields(V& v, R& r) {
  v.required("seed", r.seed);
  FuzzConfigShapeOptions<R> shape_options{r};
  v.required("shape_options", shape_options);
  v.required("dtypes", r.dtypes);
  v.required("layouts", r.layouts);
  v.extra("op_schema", r.op_schema);
}

template <typename V, Is<ReproductionInfo> R>
void fields(V& v, R& r) {
  v.required("seed", r.seed);
  v.optional("fuzz_config", r.fuzz_config);
  v.required("shape", r.shape);
  v.required("strides", r.strides);
  v.required("dtype", r.dtype);
  v.required("layout", r.layout);
  v.optional("input_snapshot", r.input_snapshot);
  v.extra("base_seed", r.base_seed);
  v.extra("iteration", r.iteration);
  v.extra("dims", r.dims);
  v.extra("attrs", r.attrs);
  v.extra("value_strategy", r.value_strategy);
  v.extra("kernel", r.kernel);
  v.extra("value_scale", r.value_scale);
  v.extra("value_parameters", r.value_parameters);
  v.extra("layout_name", r.layout_name);
  v.extra("input_strides", r.input_strides);
  v.extra("program_folder", r.program_folder);
}

template <typename V, Is<LineProfile> R>
void fields(V& v, R& r) {
  v.required("file", r.file);
  v.required("line", r.line);
  v.required("thread_instructions", r.thread_instructions);
  v.required("warp_instructions", r.warp_instructions);
  v.required("divergent_branches", r.divergent_branches);
  v.required("global_requests", r.global_requests);
  v.required("global_bytes", r.global_bytes);
  v.required("global_sectors", r.global_sectors);
  v.required("global_lines", r.global_lines);
  v.required("shared_requests", r.shared_requests);
  v.required("shared_wavefronts", r.shared_wavefronts);
  v.required("bank_conflicts", r.bank_conflicts);
}

template <typename V, Is<ValidationResult> R>
void fields(V& v, R& r) {
  v.required("passed", r.passed);
  v.required("seed", r.seed);
  v.required("op_name", r.op_name);
  v.diff("max_diff", r.max_diff);
  v.diff("max_rel_diff", r.max_rel_diff);
  v.required("failures", r.failures);
  v.required("timestamp", r.timestamp);
  v.required("duration_ms", r.duration_ms);
  v.optional("repro_info", r.repro_info);
  v.optional("error_stats", r.error_stats);
  v.extra("passes_now", r.passes_now);
  v.extra("warnings", r.warnings);
  v.extra("project", r.project);
  v.extra("user", r.user);
}

template <typename V, Is<BaselineComparison> R>
void fields(V& v, R& r) {
  v.required("op_name", r.op_name);
  v.required("seed", r.seed);
  v.diff("current_max_diff", r.current_max_diff);
  v.optional("baseline_max_diff", r.baseline_max_diff);
  v.required("current_passed", r.current_passed);
  v.optional("baseline_passed", r.baseline_passed);
  v.optional("relative_change", r.relative_change);
  v.required("is_regression", r.is_regression);
}

template <typename V, Is<OwnFuzzConfig> R>
void fields(V& v, R& r) {
  v.extra("iterations", r.iterations);
  v.at_most("iterations", r.iterations, kIterationsMax);
  v.extra("min_shape", r.min_shape);
  v.extra("max_shape", r.max_shape);
  v.extra("dtypes", r.dtypes);
  v.extra("layouts", r.layouts);
  v.extra("strategies", r.strategies);
  v.extra("seed", r.seed);
}

template <typename V, Is<SharedTensorRef> R>
void fields(V& v, R& r) {
  v.required("process", r.process);
  v.required("descriptor", r.descriptor);
  v.required("name", r.name);
  v.required("offset", r.offset);
  v.required("bytes", r.bytes);
}

}  // namespace gpuemu
