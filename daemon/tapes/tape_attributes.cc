#include "daemon/tapes/tape_attributes.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <optional>

#include <nlohmann/json.hpp>

#include "common/codec/base64.h"
#include "common/rng/fill.h"

namespace gpuemu {
namespace {

using Json = nlohmann::json;

constexpr const char* kInputsAs = "inputs_as";
constexpr const char* kOutputs = "outputs";
constexpr const char* kOutput = "output";
constexpr const char* kSeed = "seed";
constexpr const char* kData = "data";

Result<Shape> shape_of(const Json& json, const std::string& what) {
  Shape shape;
  for (const Json& size : json.is_array() ? json : Json::array({nullptr})) {
    if (!size.is_number_integer() || size.get<int64_t>() < 0) {
      return error(ErrorCode::InvalidArgument, "{}: expected a list of sizes, got {}", what,
                   json.dump());
    }
    shape.push_back(size.get<int64_t>());
  }
  const auto count = checked_element_count(shape);
  if (!count) return error(ErrorCode::InvalidArgument, "{}: {}", what, count.error().message);
  return shape;
}

Result<TapeForm::Output> output_of(const Json& json, const std::string& what) {
  std::optional<DType> dtype;
  if (json.is_object() && json.contains("dtype") && json["dtype"].is_string()) {
    dtype = dtype_from_name(json["dtype"].get_ref<const std::string&>());
  }
  if (!dtype || !json.contains("shape")) {
    return error(ErrorCode::InvalidArgument, "{}: expected an object with shape and dtype, got {}",
                 what, json.dump());
  }
  return TapeForm::Output{GPUEMU_TRY(shape_of(json["shape"], what)), *dtype};
}

/// Takes the shapes of the inputs out of `attrs`.
Status take_inputs(Json& attrs, TapeForm& form) {
  if (!attrs.contains(kInputsAs)) return ok_status();
  const Json given = attrs[kInputsAs];
  attrs.erase(kInputsAs);
  if (!given.is_array() || given.size() != form.inputs.size()) {
    return error(ErrorCode::InvalidArgument,
                 "attribute '{}': expected a list with a shape or null for each of {} "
                 "inputs, got {}",
                 kInputsAs, form.inputs.size(), given.dump());
  }
  for (size_t i = 0; i < given.size(); ++i) {
    if (given[i].is_null()) continue;
    const std::string what = fmt::format("attribute '{}', input {}", kInputsAs, i);
    const Shape shape = GPUEMU_TRY(shape_of(given[i], what));
    if (element_count(shape) != element_count(form.inputs[i])) {
      return error(ErrorCode::InvalidArgument,
                   "{}: {} has other elements than the tensor, which is {}", what, to_string(shape),
                   to_string(form.inputs[i]));
    }
    form.inputs[i] = shape;
  }
  return ok_status();
}

/// Takes the outputs out of `attrs`; without any the entry's tensor is the only one.
Status take_outputs(Json& attrs, const tape::Entry& entry, const OpKind& op, TapeForm& form) {
  const size_t count = op.outputs.size();
  if (count == 1 && !attrs.contains(kOutputs) && !attrs.contains(kOutput)) {
    form.outputs.push_back({entry.shape, entry.dtype});
    return ok_status();
  }
  const Json all = attrs.value(kOutputs, Json());
  const Json which = attrs.value(kOutput, Json());
  attrs.erase(kOutputs);
  attrs.erase(kOutput);
  const bool is_whole = all.is_array() && all.size() == count && which.is_number_unsigned();
  if (!is_whole || which.get<uint64_t>() >= count) {
    return error(ErrorCode::InvalidArgument,
                 "{} makes {} tensors, an entry of a tape makes one: expected the "
                 "attributes '{}', a list of them with shape and dtype, and '{}', the "
                 "number of the entry's from 0 to {}",
                 op.name, count, kOutputs, kOutput, count - 1);
  }
  for (const Json& one : all) {
    const std::string what = fmt::format("attribute '{}', {}", kOutputs, form.outputs.size());
    form.outputs.push_back(GPUEMU_TRY(output_of(one, what)));
  }
  form.output = which.get<size_t>();
  const TapeForm::Output& own = form.outputs[form.output];
  if (own.shape == entry.shape && own.dtype == entry.dtype) return ok_status();
  return error(ErrorCode::InvalidArgument, "attribute '{}', {}: {} {} is not the entry's {} {}",
               kOutputs, form.output, name_of(own.dtype), to_string(own.shape),
               name_of(entry.dtype), to_string(entry.shape));
}

template <typename T>
void append(T value, std::vector<std::byte>& to) {
  std::array<std::byte, sizeof value> bytes;
  std::memcpy(bytes.data(), &value, sizeof value);
  to.insert(to.end(), bytes.begin(), bytes.end());
}

template <typename T>
Status append_whole(const AttributeField& field, const Json& value, std::vector<std::byte>& to) {
  const bool is_switch = value.is_boolean();
  bool fits = is_switch || value.is_number_integer();
  if (value.is_number_unsigned()) {
    fits = value.get<uint64_t>() <= static_cast<uint64_t>(std::numeric_limits<T>::max());
  } else if (value.is_number_integer()) {
    fits = std::in_range<T>(value.get<int64_t>());
  }
  if (!fits) {
    return error(ErrorCode::InvalidArgument, "attribute '{}': expected an integer of {}, got {}",
                 field.name, name_of(field.type), value.dump());
  }
  append(is_switch ? static_cast<T>(value.get<bool>()) : value.get<T>(), to);
  return ok_status();
}

template <typename T>
Status append_number(const AttributeField& field, const Json& value, std::vector<std::byte>& to) {
  if (!value.is_number()) {
    return error(ErrorCode::InvalidArgument, "attribute '{}': expected a number, got {}",
                 field.name, value.dump());
  }
  append(static_cast<T>(value.get<double>()), to);
  return ok_status();
}

Status append_value(const AttributeField& field, const Json& value, std::vector<std::byte>& to) {
  switch (field.type) {
    case AttributeType::Int32:
      return append_whole<int32_t>(field, value, to);
    case AttributeType::Int64:
      return append_whole<int64_t>(field, value, to);
    case AttributeType::UInt64:
      return append_whole<uint64_t>(field, value, to);
    case AttributeType::Float32:
      return append_number<float>(field, value, to);
    case AttributeType::Float64:
      return append_number<double>(field, value, to);
  }
  GPUEMU_UNREACHABLE();
}

/// What is appended where the call says nothing.
Json fallback_of(const AttributeField& field) {
  const double value = *field.fallback;
  const bool is_whole =
      field.type != AttributeType::Float32 && field.type != AttributeType::Float64;
  return is_whole ? Json(static_cast<int64_t>(value)) : Json(value);
}

std::string names_of(const AttributeSchema& schema) {
  std::string names;
  for (const AttributeField& field : schema.fields) {
    names += (names.empty() ? "" : ", ") + field.name;
  }
  return names.empty() ? "none" : names;
}

Status check_leaf_attributes(const tape::Entry& entry, const Json& attrs) {
  const bool is_tensor = entry.op == tape::kTensor;
  const char* const known = is_tensor ? kData : entry.op == tape::kRandn ? kSeed : "";
  for (const auto& [name, value] : attrs.items()) {
    if (name == known) continue;
    return error(ErrorCode::InvalidArgument, "{} has no attribute '{}'; there are: {}", entry.op,
                 name, *known == '\0' ? "none" : known);
  }
  if (is_tensor && !(attrs.contains(kData) && attrs[kData].is_string())) {
    return error(ErrorCode::InvalidArgument,
                 "attribute 'data' is missing, expected the elements as base64");
  }
  if (attrs.contains(kSeed) && !attrs[kSeed].is_number_unsigned()) {
    return error(ErrorCode::InvalidArgument,
                 "attribute 'seed': expected a whole number from 0, got {}", attrs[kSeed].dump());
  }
  return ok_status();
}

uint64_t bytes_of(const tape::Entry& entry) { return tensor_bytes(entry.shape, entry.dtype); }

}  // namespace

Result<TapeForm> tape_form(const tape::Entry& entry, const OpKind& op,
                           std::span<const Shape> inputs) {
  Json attrs = Json::parse(entry.attrs);
  TapeForm form;
  form.inputs.assign(inputs.begin(), inputs.end());
  Json shared = attrs;
  shared.erase(kOutput);
  form.call = fmt::format("{} {}", entry.op, shared.dump());
  GPUEMU_TRY(take_inputs(attrs, form));
  GPUEMU_TRY(take_outputs(attrs, entry, op, form));
  form.attrs = attrs.dump();
  return form;
}

Result<PackedAttributes> pack_attributes(const AttributeSchema& schema, const std::string& json) {
  const Json given = Json::parse(json);
  for (const auto& [name, value] : given.items()) {
    const bool is_known = std::ranges::any_of(
        schema.fields, [&](const AttributeField& field) { return field.name == name; });
    if (is_known) continue;
    return error(ErrorCode::InvalidArgument, "no attribute '{}'; there are: {}", name,
                 names_of(schema));
  }
  PackedAttributes packed{.schema_id = schema.id(), .bytes = {}};
  for (const AttributeField& field : schema.fields) {
    if (!given.contains(field.name) && !field.fallback) {
      return error(ErrorCode::InvalidArgument, "attribute '{}' is missing: {}", field.name,
                   field.meaning);
    }
    GPUEMU_TRY(append_value(
        field, given.contains(field.name) ? given[field.name] : fallback_of(field), packed.bytes));
  }
  return packed;
}

uint64_t tensor_bytes(const Shape& shape, DType dtype) {
  uint64_t bytes = byte_size(dtype);
  for (const int64_t size : shape) bytes *= static_cast<uint64_t>(size);
  return bytes;
}

Status check_leaf(const tape::Entry& entry) {
  if (!entry.inputs.empty()) {
    return error(ErrorCode::InvalidArgument, "{} has no inputs, got {}", entry.op,
                 entry.inputs.size());
  }
  const Json attrs = Json::parse(entry.attrs);
  GPUEMU_TRY(check_leaf_attributes(entry, attrs));
  if (entry.op == tape::kRandn && !is_float(entry.dtype)) {
    return error(ErrorCode::InvalidArgument, "randn makes floats, got the dtype {}",
                 name_of(entry.dtype));
  }
  if (entry.op != tape::kTensor) return ok_status();
  const auto data = decode_base64(attrs[kData].get_ref<const std::string&>());
  if (!data) return error(ErrorCode::InvalidArgument, "attribute 'data': {}", data.error().message);
  if (data->size() == bytes_of(entry)) return ok_status();
  return error(ErrorCode::InvalidArgument,
               "attribute 'data' has {} bytes, the shape {} of {} takes {}", data->size(),
               to_string(entry.shape), name_of(entry.dtype), bytes_of(entry));
}

Result<std::vector<std::byte>> leaf_values(const tape::Entry& entry, uint64_t seed) {
  const Json attrs = Json::parse(entry.attrs);
  if (entry.op == tape::kTensor) {
    return decode_base64(attrs[kData].get_ref<const std::string&>());
  }
  std::vector<std::byte> values(bytes_of(entry));
  if (entry.op == tape::kOnes) {
    fill({}, Distribution::integer(1, 1), entry.dtype, values);
    return values;
  }
  const bool is_own = attrs.contains(kSeed);
  const RngState state = derive_state(is_own ? attrs[kSeed].get<uint64_t>() : seed,
                                      is_own ? 0 : entry.seq, tape::kRandn);
  fill(state, Distribution::normal(0, 1), entry.dtype, values);
  return values;
}

}  // namespace gpuemu
