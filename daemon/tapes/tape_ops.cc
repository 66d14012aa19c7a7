#include "daemon/tapes/tape_ops.h"

#include <array>
#include <cmath>
#include <cstring>
#include <limits>

#include <nlohmann/json.hpp>

#include "common/codec/base64.h"
#include "common/rng/fill.h"
#include "common/tensor/tensor.h"
#include "daemon/tapes/tape_form.h"
#include "kernels/op.h"
#include "ops/dispatch/check_case.h"
#include "ops/dispatch/libraries.h"
#include "runtime/tape/tape.h"

namespace gpuemu {
namespace {

using Json = nlohmann::json;

/// Tensors that are only looked at lie so far from each other.
constexpr uint64_t kPretendedDistance = uint64_t{1} << 44;

constexpr const char* kSeed = "seed";
constexpr const char* kData = "data";

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

uint64_t bytes_of(const Shape& shape, DType dtype) {
  uint64_t bytes = byte_size(dtype);
  for (const int64_t size : shape) bytes *= static_cast<uint64_t>(size);
  return bytes;
}

uint64_t bytes_of(const tape::Entry& entry) { return bytes_of(entry.shape, entry.dtype); }

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

/// The tensors of an entry as a call sees them, at addresses that nobody looks at.
struct PretendedTensors {
  std::vector<Shape> shapes;
  std::vector<Strides> strides;
  std::vector<DeviceTensor> views;

  void add(const Shape& shape, DType dtype) {
    shapes.push_back(shape);
    strides.push_back(row_major_strides(shape));
    views.push_back({(views.size() + 1) * kPretendedDistance, dtype, {}, {}});
  }
  void finish() {
    for (size_t i = 0; i < views.size(); ++i) {
      views[i].shape = shapes[i];
      views[i].strides = strides[i];
    }
  }
};

/// Why no kernel of the op computes the case; "" when one does.
std::string refusal_of_all(const OpCase& c, const TypeBinding& types) {
  std::string reasons;
  for (const KernelVariant* variant : variants_here(c.op)) {
    const std::string reason = refusal(c, *variant, types);
    if (reason.empty()) return "";
    reasons += fmt::format("{}{}: {}", reasons.empty() ? "" : "; ", variant->name, reason);
  }
  return "no kernel computes this: " + reasons;
}

}  // namespace

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

TapeOps::TapeOps(DeviceProperties device)
    : device_(std::move(device)), registry_(OpRegistry::with_builtins()) {}

Status TapeOps::check(const tape::Entry& entry, std::span<const tape::Known* const> inputs) const {
  if (entry.is_tape_leaf()) return check_leaf(entry);
  const auto found = registry_.find(entry.op);
  if (!found) {
    return error(ErrorCode::InvalidArgument,
                 "gpuemu has no op '{}'; `gpuemu kernels` lists the ops, and a tape "
                 "also has randn, ones, tensor, fetch and drop",
                 entry.op);
  }
  const OpKind& op = **found;
  std::vector<Shape> shapes;
  for (const tape::Known* input : inputs) shapes.push_back(input->shape);
  const TapeForm form = GPUEMU_TRY(tape_form(entry, op, shapes));
  PretendedTensors tensors;
  bool is_huge = false;
  for (size_t i = 0; i < inputs.size(); ++i) {
    is_huge = is_huge || inputs[i]->bytes >= kPretendedDistance;
    tensors.add(form.inputs[i], inputs[i]->dtype);
  }
  for (const TapeForm::Output& output : form.outputs) {
    is_huge = is_huge || bytes_of(output.shape, output.dtype) >= kPretendedDistance;
    tensors.add(output.shape, output.dtype);
  }
  tensors.finish();
  if (is_huge) {
    return error(ErrorCode::InvalidArgument, "a tensor has 2^44 bytes or more; no device holds it");
  }
  const PackedAttributes attributes = GPUEMU_TRY(pack_attributes(op.schema, form.attrs));
  const std::span views(tensors.views);
  const OpCase c{op, views.first(inputs.size()), views.subspan(inputs.size()),
                 Attributes(op.schema, attributes.bytes), device_};
  const TypeBinding types = GPUEMU_TRY(check_case(c));
  const std::string refused = refusal_of_all(c, types);
  return refused.empty() ? ok_status() : Status(error(ErrorCode::InvalidArgument, "{}", refused));
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
