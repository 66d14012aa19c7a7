// Commands on tensors: list them, print elements, and compare outputs with expected values.
#include <fmt/ranges.h>

#include "cli/debug/commands.h"
#include "cli/debug/outputs.h"
#include "cli/debug/tensor_text.h"
#include "cli/report/text.h"

namespace gpuemu::cli {
namespace {

constexpr int64_t kWrongListed = 10;

std::string layout_text(const ExportedTensor& tensor) {
  if (tensor.strides == row_major_strides(tensor.shape)) return "contiguous";
  return fmt::format("strides [{}]", fmt::join(tensor.strides, ", "));
}

/// Reads the same bytes as elements of another type.
Result<Tensor> as_type(Tensor tensor, const std::string& name) {
  const auto dtype = dtype_from_alias(name);
  if (!dtype) {
    return error(ErrorCode::InvalidArgument,
                 "unknown type '{}': expected hex or a dtype, as float32 or i32", name);
  }
  if (byte_size(*dtype) != byte_size(tensor.dtype)) {
    return error(ErrorCode::InvalidArgument,
                 "as {}: it has {} bytes, an element of {} has {}; take a type of the same size",
                 name_of(*dtype), byte_size(*dtype), name_of(tensor.dtype),
                 byte_size(tensor.dtype));
  }
  tensor.dtype = *dtype;
  return tensor;
}

/// Lists the first wrong elements of a selection.
void list_wrong(const DebugContext& context, const ExportedTensor& tensor, const Tensor& values,
                const std::vector<int64_t>& wrong) {
  for (size_t i = 0; i < wrong.size() && i < kWrongListed; ++i) {
    context.out << fmt::format("  {} = {}\n",
                               element_name(one_line(tensor.name), tensor.shape, wrong[i]),
                               element_line(context, tensor, values, wrong[i]));
  }
  if (wrong.size() > kWrongListed) {
    context.out << fmt::format("  and {} more\n", wrong.size() - kWrongListed);
  }
}

std::vector<int64_t> wrong_of(const Difference& difference, const Selection& selection,
                              const Shape& shape) {
  std::vector<int64_t> wrong;
  if (count_of(selection) == 0) return wrong;
  std::vector<int64_t> at(selection.size(), 0);
  while (true) {
    int64_t flat = 0;
    for (size_t axis = 0; axis < shape.size(); ++axis) {
      flat = flat * shape[axis] + selection[axis].at(at[axis]);
    }
    if (difference.wrong[static_cast<size_t>(flat)]) wrong.push_back(flat);
    size_t axis = selection.size();
    while (axis > 0 && ++at[axis - 1] == selection[axis - 1].count) at[--axis] = 0;
    if (axis == 0) return wrong;
  }
}

Status diff_all(DebugContext& context) {
  for (const ExportedTensor& tensor : context.loaded->tensors) {
    if (!is_output(tensor)) continue;
    const Tensor values = GPUEMU_TRY(values_of(context, {.name = tensor.name, .part = "output"}));
    const Difference difference = compare_output(*context.loaded, tensor, values);
    context.out << output_line(context, tensor, values, difference) << '\n';
    if (difference.refused.empty()) {
      list_wrong(context, tensor, values, wrong_of(difference, whole(tensor.shape), tensor.shape));
    }
  }
  return ok_status();
}

}  // namespace

Status do_tensors(DebugContext& context, const Words&) {
  for (const ExportedTensor& tensor : GPUEMU_TRY(loaded_case(context))->tensors) {
    context.out << fmt::format("{:<8} {} {} {}, {}\n", name_of(tensor.role), one_line(tensor.name),
                               name_of(tensor.dtype), to_string(tensor.shape), layout_text(tensor));
  }
  return ok_status();
}

Status print_tensor(DebugContext& context, const Words& words) {
  const TensorRef ref = GPUEMU_TRY(parse_tensor_ref(words[0]));
  Tensor tensor = GPUEMU_TRY(values_of(context, ref));
  const Selection selection = GPUEMU_TRY(resolve(ref.slice, tensor.shape));
  TextOptions options;
  if (words.size() == 3) {
    options.hex = words[2] == "hex";
    if (!options.hex) tensor = GPUEMU_TRY(as_type(std::move(tensor), words[2]));
  }
  const std::string part = ref.part.empty() ? "" : "." + ref.part;
  Shape kept;
  for (const ChosenAxis& axis : selection) {
    if (axis.kept) kept.push_back(axis.count);
  }
  context.out << fmt::format("{}{} {} {}\n", one_line(ref.name), part, name_of(tensor.dtype),
                             to_string(kept))
              << tensor_text(tensor, selection, options) << '\n';
  return ok_status();
}

Status do_print(DebugContext& context, const Words& words) {
  constexpr const char* kUsage = "print TENSOR[SLICE]|%REGISTER [as hex|DTYPE]";
  if (words.empty()) return wrong_usage(kUsage, "the tensor is missing");
  if (words.size() != 1 && (words.size() != 3 || words[1] != "as")) {
    return wrong_usage(kUsage, fmt::format("'{}': expected `as` and a type", words[1]));
  }
  return words[0].starts_with('%') ? print_register(context, words) : print_tensor(context, words);
}

Status do_diff(DebugContext& context, const Words& words) {
  GPUEMU_TRY(case_with_kernel(context));
  if (words.empty()) return diff_all(context);
  const TensorRef ref = GPUEMU_TRY(parse_tensor_ref(words[0]));
  const ExportedTensor& tensor = *GPUEMU_TRY(find_tensor(context, ref.name));
  if (!is_output(tensor) || !ref.part.empty()) {
    return error(ErrorCode::InvalidArgument, "'{}' is not an output: only those have a reference",
                 words[0]);
  }
  const Tensor values = GPUEMU_TRY(values_of(context, {.name = ref.name, .part = "output"}));
  const Selection selection = GPUEMU_TRY(resolve(ref.slice, tensor.shape));
  const Difference difference = compare_output(*context.loaded, tensor, values);
  context.out << output_line(context, tensor, values, difference) << '\n';
  if (!difference.refused.empty()) return ok_status();
  const std::vector<int64_t> wrong = wrong_of(difference, selection, tensor.shape);
  TextOptions options{.colour = context.environment.colour};
  options.marked = [&](int64_t flat) { return difference.wrong[static_cast<size_t>(flat)]; };
  context.out << tensor_text(values, selection, options) << '\n';
  list_wrong(context, tensor, values, wrong);
  return ok_status();
}

}  // namespace gpuemu::cli
