// Private to this folder: the members of every record, each written once. JsonWriter and JsonReader
// both walk these lists, so what is sent can be read.
//
//   required  missing is an error; null reads as NaN where a number stands
//   optional  missing or null leaves the field as it is; always sent
//   extra     as optional, but sent only when it differs from the empty value: additions of ours
//   diff      a number that is never sent as null: non-finite becomes the largest double
#pragma once

#include <concepts>
#include <type_traits>

#include "common/protocol/records.h"

namespace gpuemu {

/// R is Record, possibly const.
template <typename R, typename Record>
concept Is = std::same_as<std::remove_const_t<R>, Record>;

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

/// FuzzConfig.shape_options is an object of its own on the wire.
template <typename Config>
struct ShapeOptions {
  Config& config;
};

template <typename V, typename Config>
void fields(V& v, const ShapeOptions<Config>& r) {
  v.required("batch_sizes", r.config.batch_sizes);
  v.required("seq_lengths", r.config.seq_lengths);
  v.required("hidden_dims", r.config.hidden_dims);
  v.required("edge_cases", r.config.edge_cases);
}

template <typename V, Is<FuzzConfig> R>
void fields(V& v, R& r) {
  v.required("seed", r.seed);
  ShapeOptions<R> shape_options{r};
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

}  // namespace gpuemu
