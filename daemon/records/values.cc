// Encodes records as FlatBuffers and decodes those that the verifier accepts.
#include "daemon/records/values.h"

#include "daemon/records/flat.h"

namespace gpuemu::storage {
namespace {

template <typename T>
flatbuffers::Optional<T> to_stored(const std::optional<T>& value) {
  if (!value) return flatbuffers::nullopt;
  return *value;
}
template <typename T>
std::optional<T> from_stored(const flatbuffers::Optional<T>& value) {
  if (!value.has_value()) return std::nullopt;
  return value.value();
}

Result<DType> dtype_of(uint8_t number) { return enum_of(number, DType::Bool); }
Result<LayoutKind> layout_of(uint8_t number) { return enum_of(number, LayoutKind::Transposed); }

std::unique_ptr<stored::SchemaTensorT> pack(const OpSchema::TensorDims& tensor) {
  auto to = std::make_unique<stored::SchemaTensorT>();
  to->name = tensor.name;
  to->dims = tensor.dims;
  return to;
}

std::unique_ptr<stored::SchemaT> pack(const OpSchema& schema) {
  auto to = std::make_unique<stored::SchemaT>();
  to->name = schema.name;
  for (const auto& dim : schema.dims) {
    to->dims.push_back(std::make_unique<stored::SchemaDimT>());
    to->dims.back()->name = dim.name;
    to->dims.back()->candidates = dim.candidates;
  }
  for (const auto& input : schema.inputs) to->inputs.push_back(pack(input));
  if (schema.output) to->output = pack(*schema.output);
  return to;
}

OpSchema unpack(const stored::SchemaT& from) {
  OpSchema schema{from.name, {}, {}, std::nullopt};
  for (const auto& dim : from.dims) schema.dims.push_back({dim->name, dim->candidates});
  for (const auto& input : from.inputs) schema.inputs.push_back({input->name, input->dims});
  if (from.output) schema.output = {from.output->name, from.output->dims};
  return schema;
}

std::unique_ptr<stored::FuzzT> pack(const FuzzConfig& config) {
  auto to = std::make_unique<stored::FuzzT>();
  to->seed = config.seed;
  to->batch_sizes = config.batch_sizes;
  to->seq_lengths = config.seq_lengths;
  to->hidden_dims = config.hidden_dims;
  for (const Shape& shape : config.edge_cases) {
    to->edge_cases.push_back(std::make_unique<stored::ShapeT>());
    to->edge_cases.back()->sizes = shape;
  }
  for (const DType dtype : config.dtypes) to->dtypes.push_back(static_cast<uint8_t>(dtype));
  for (const LayoutKind layout : config.layouts) {
    to->layouts.push_back(static_cast<uint8_t>(layout));
  }
  if (config.op_schema) to->op_schema = pack(*config.op_schema);
  return to;
}

Result<FuzzConfig> unpack(const stored::FuzzT& from) {
  FuzzConfig config{from.seed, from.batch_sizes, from.seq_lengths, from.hidden_dims, {}, {}, {},
                    {}};
  for (const auto& shape : from.edge_cases) config.edge_cases.push_back(shape->sizes);
  for (const uint8_t number : from.dtypes) {
    config.dtypes.push_back(GPUEMU_TRY(dtype_of(number)));
  }
  for (const uint8_t number : from.layouts) {
    config.layouts.push_back(GPUEMU_TRY(layout_of(number)));
  }
  if (from.op_schema) config.op_schema = unpack(*from.op_schema);
  return config;
}

std::unique_ptr<stored::ReproT> pack(const ReproductionInfo& info) {
  auto to = std::make_unique<stored::ReproT>();
  to->seed = info.seed;
  if (info.fuzz_config) to->fuzz_config = pack(*info.fuzz_config);
  to->shape = info.shape;
  to->strides = info.strides;
  to->dtype = static_cast<uint8_t>(info.dtype);
  to->layout = static_cast<uint8_t>(info.layout);
  to->has_snapshot = info.input_snapshot.has_value();
  if (info.input_snapshot) {
    const auto* bytes = reinterpret_cast<const uint8_t*>(info.input_snapshot->data());
    to->input_snapshot.assign(bytes, bytes + info.input_snapshot->size());
  }
  to->base_seed = to_stored(info.base_seed);
  to->iteration = to_stored(info.iteration);
  for (const auto& [name, value] : info.dims) {
    to->dims.push_back(std::make_unique<stored::NamedIntegerT>());
    to->dims.back()->name = name;
    to->dims.back()->value = value;
  }
  for (const auto& [name, value] : info.attrs) {
    to->attrs.push_back(std::make_unique<stored::NamedNumberT>());
    to->attrs.back()->name = name;
    to->attrs.back()->value = value;
  }
  to->value_strategy = info.value_strategy;
  to->kernel = info.kernel;
  to->value_scale = to_stored(info.value_scale);
  to->value_parameters = info.value_parameters;
  to->layout_name = info.layout_name;
  to->program_folder = info.program_folder;
  for (const auto& [name, strides] : info.input_strides) {
    to->input_strides.push_back(std::make_unique<stored::NamedSizesT>());
    to->input_strides.back()->name = name;
    to->input_strides.back()->sizes = strides;
  }
  return to;
}

Result<ReproductionInfo> unpack(const stored::ReproT& from) {
  ReproductionInfo info;
  info.seed = from.seed;
  if (from.fuzz_config) info.fuzz_config = GPUEMU_TRY(unpack(*from.fuzz_config));
  info.shape = from.shape;
  info.strides = from.strides;
  info.dtype = GPUEMU_TRY(dtype_of(from.dtype));
  info.layout = GPUEMU_TRY(layout_of(from.layout));
  if (from.has_snapshot) {
    const auto* bytes = reinterpret_cast<const std::byte*>(from.input_snapshot.data());
    info.input_snapshot.emplace(bytes, bytes + from.input_snapshot.size());
  }
  info.base_seed = from_stored(from.base_seed);
  info.iteration = from_stored(from.iteration);
  for (const auto& dim : from.dims) info.dims[dim->name] = dim->value;
  for (const auto& attr : from.attrs) info.attrs[attr->name] = attr->value;
  info.value_strategy = from.value_strategy;
  info.kernel = from.kernel;
  info.value_scale = from_stored(from.value_scale);
  info.value_parameters = from.value_parameters;
  info.layout_name = from.layout_name;
  info.program_folder = from.program_folder;
  for (const auto& one : from.input_strides) info.input_strides[one->name] = one->sizes;
  return info;
}

std::unique_ptr<stored::FailureT> pack(const ValidationFailure& failure) {
  auto to = std::make_unique<stored::FailureT>();
  to->kind = static_cast<uint8_t>(failure.kind);
  to->message = failure.message;
  to->index = to_stored(failure.index);
  to->expected = to_stored(failure.expected);
  to->actual = to_stored(failure.actual);
  to->output = failure.output;
  to->source_file = failure.source_file;
  to->source_line = failure.source_line;
  return to;
}

Result<ValidationFailure> unpack(const stored::FailureT& from) {
  ValidationFailure failure;
  failure.kind = GPUEMU_TRY(enum_of(from.kind, kLastFindingKind));
  failure.message = from.message;
  failure.index = from_stored(from.index);
  failure.expected = from_stored(from.expected);
  failure.actual = from_stored(from.actual);
  failure.output = from.output;
  failure.source_file = from.source_file;
  failure.source_line = from.source_line;
  return failure;
}

std::unique_ptr<stored::StatsT> pack(const ErrorStats& stats) {
  auto to = std::make_unique<stored::StatsT>();
  to->count = stats.count;
  to->num_exceeding = stats.num_exceeding;
  to->max_abs = stats.max_abs;
  to->mean_abs = stats.mean_abs;
  to->p50_abs = stats.p50_abs;
  to->p90_abs = stats.p90_abs;
  to->p99_abs = stats.p99_abs;
  to->max_rel = stats.max_rel;
  to->mean_rel = stats.mean_rel;
  to->max_ulp = stats.max_ulp;
  to->mean_ulp = stats.mean_ulp;
  to->mean_signed_ulp = stats.mean_signed_ulp;
  return to;
}

ErrorStats unpack(const stored::StatsT& from) {
  return {from.count,    from.num_exceeding, from.max_abs,  from.mean_abs,
          from.p50_abs,  from.p90_abs,       from.p99_abs,  from.max_rel,
          from.mean_rel, from.max_ulp,       from.mean_ulp, from.mean_signed_ulp};
}

}  // namespace

std::string encode_result(const ValidationResult& result, uint64_t stamp, uint64_t inputs) {
  stored::ResultT to;
  to.stamp = stamp;
  to.inputs = inputs;
  to.passed = result.passed;
  to.seed = result.seed;
  to.op_name = result.op_name;
  to.max_diff = result.max_diff;
  to.max_rel_diff = result.max_rel_diff;
  for (const ValidationFailure& failure : result.failures) to.failures.push_back(pack(failure));
  to.timestamp = result.timestamp;
  to.duration_ms = result.duration_ms;
  if (result.repro_info) to.repro_info = pack(*result.repro_info);
  if (result.error_stats) to.error_stats = pack(*result.error_stats);
  return finish<stored::Result>(to);
}

Result<StoredResult> decode_result(std::string_view bytes) {
  const Record<stored::Result> root = GPUEMU_TRY(record_of<stored::Result>(bytes));
  stored::ResultT from;
  root->UnPackTo(&from);
  StoredResult to{from.stamp, {}, from.inputs};
  ValidationResult& result = to.result;
  result.passed = from.passed;
  result.seed = from.seed;
  result.op_name = from.op_name;
  result.max_diff = from.max_diff;
  result.max_rel_diff = from.max_rel_diff;
  for (const auto& failure : from.failures) {
    result.failures.push_back(GPUEMU_TRY(unpack(*failure)));
  }
  result.timestamp = from.timestamp;
  result.duration_ms = from.duration_ms;
  if (from.repro_info) result.repro_info = GPUEMU_TRY(unpack(*from.repro_info));
  if (from.error_stats) result.error_stats = unpack(*from.error_stats);
  return to;
}

Result<uint64_t> stamp_of(std::string_view bytes) {
  const Record<stored::Result> root = GPUEMU_TRY(record_of<stored::Result>(bytes));
  return root->stamp();
}

Result<bool> passed_of(std::string_view bytes) {
  const Record<stored::Result> root = GPUEMU_TRY(record_of<stored::Result>(bytes));
  return root->passed();
}

std::string encode_project(const StoredProject& project) {
  stored::ProjectT to;
  to.path = project.path;
  to.name = project.name;
  to.last_used = project.last_used;
  return finish<stored::Project>(to);
}

Result<StoredProject> decode_project(std::string_view bytes) {
  const Record<stored::Project> root = GPUEMU_TRY(record_of<stored::Project>(bytes));
  stored::ProjectT from;
  root->UnPackTo(&from);
  return StoredProject{.id = {}, .path = from.path, .name = from.name, .last_used = from.last_used};
}

}  // namespace gpuemu::storage
