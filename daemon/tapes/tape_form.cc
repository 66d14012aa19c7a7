#include "daemon/tapes/tape_form.h"

#include <optional>

#include <nlohmann/json.hpp>

namespace gpuemu {
namespace {

using Json = nlohmann::json;

constexpr const char* kInputsAs = "inputs_as";
constexpr const char* kOutputs = "outputs";
constexpr const char* kOutput = "output";

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

}  // namespace gpuemu
