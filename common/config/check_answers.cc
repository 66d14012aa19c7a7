// Checks outputs that declare several right answers.
#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "common/config/readers.h"
#include "common/toml/nearest.h"

namespace gpuemu {
namespace {

/// Where an output is declared, for reporting its problems.
struct OutputSite {
  ReadState& state;
  std::string path;  ///< "ops[0].outputs[1]."

  bool has(const std::string& key) const { return state.places.contains(path + key); }
  void problem(const std::string& key, const std::string& message) const {
    state.problem_at(path + key, message);
  }
};

/// Returns the tensor that has the axis: the indexed input, or the output itself. Null if there is
/// none; that is reported already.
const TensorSpec* tensor_of_axis(const OpConfig& op, const TensorSpec& output,
                                 const OutputSite& site) {
  if (output.any_order) return &output;
  const auto input = std::ranges::find(op.inputs, output.indices_of, &TensorSpec::name);
  if (input == op.inputs.end()) {
    std::vector<std::string> inputs;
    for (const TensorSpec& one : op.inputs) inputs.push_back(one.name);
    site.problem("indices_of",
                 fmt::format("no input is called '{}', known are {}{}", output.indices_of,
                             fmt::join(inputs, ", "), did_you_mean(output.indices_of, inputs)));
    return nullptr;
  }
  const auto dtype = dtype_from_alias(output.dtype);
  if (dtype && !is_float(*dtype) && *dtype != DType::Bool) return &*input;
  site.problem("indices_of",
               fmt::format("'{}' has the dtype '{}', but indices are integers; write dtype = "
                           "\"int32\"",
                           output.name, output.dtype));
  return nullptr;
}

void check_output(const OpConfig& op, const TensorSpec& output, const OutputSite& site) {
  const bool has_axis = site.has("axis");
  if (output.indices_of.empty() && !output.any_order) {
    if (has_axis) {
      site.problem("axis", "an axis of nothing; it belongs to indices_of or any_order");
    }
    return;
  }
  const std::string own = output.any_order ? "any_order" : "indices_of";
  if (output.any_order && !output.indices_of.empty()) {
    return site.problem(own, "indices_of and any_order, expected one of the two");
  }
  if (op.mode != ExecutionMode::Kernel) {
    return site.problem(own, "the op needs a kernel: what a client submits is compared as it is");
  }
  const TensorSpec* tensor = tensor_of_axis(op, output, site);
  if (tensor == nullptr) return;
  const auto rank = static_cast<int64_t>(tensor->shape.size());
  if (output.axis >= -rank && output.axis < rank) return;
  site.problem(has_axis ? "axis" : own, fmt::format("'{}' has {} axes, so axis {} does not exist",
                                                    tensor->name, rank, output.axis));
}

}  // namespace

void check_answers(ReadState& state, const OpConfig& op, const OpDraft& draft) {
  // Keys that the op does not set itself come from its kernel's table.
  const bool own = state.places.contains(draft.path + ".outputs");
  const std::string& path = own ? draft.path : draft.data_path;
  for (size_t i = 0; i < op.outputs.size(); ++i) {
    check_output(op, op.outputs[i], {state, fmt::format("{}.outputs[{}].", path, i)});
  }
}

}  // namespace gpuemu
