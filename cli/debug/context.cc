#include "cli/debug/context.h"

#include <algorithm>

#include <fmt/ranges.h>

#include "cli/debug/compare.h"
#include "common/protocol/wire_errors.h"

namespace gpuemu::cli {
namespace {

Result<Tensor> named(const NamedTensors& from, const TensorRef& ref, const char* why) {
  const auto found = from.find(ref.name);
  if (found != from.end()) return found->second;
  return error(ErrorCode::InvalidArgument, "'{}' has no part '{}': {}", ref.name, ref.part, why);
}

/// Returns the current contents of the tensor on the device.
Result<Tensor> live(const DebugContext& context, const ExportedTensor& tensor) {
  if (context.run == nullptr || !context.ran) {
    return error(ErrorCode::InvalidArgument,
                 "'{0}' has no values before a run: type `replay`; `print {0}.expected` shows what "
                 "they should be",
                 tensor.name);
  }
  const DebugView* view = context.stepping->view();
  if (view == nullptr) return context.run->read(tensor);
  return context.run->read(tensor, [view](std::span<std::byte> to, uint64_t address) {
    return view->read(to, address);
  });
}

}  // namespace

Result<const ExportedCaseReply*> loaded_case(const DebugContext& context) {
  if (context.loaded) return &*context.loaded;
  return error(ErrorCode::InvalidArgument,
               "no case is loaded: `list` shows the failures, `load SEED` takes one");
}

Result<const ExportedCaseReply*> case_with_kernel(const DebugContext& context) {
  const ExportedCaseReply* loaded = GPUEMU_TRY(loaded_case(context));
  if (!loaded->ptx.empty()) return loaded;
  return error(ErrorCode::InvalidArgument,
               "the case of '{}' was submitted by a client: it has inputs, but no kernel to "
               "run",
               loaded->result.op_name);
}

Result<const ExportedTensor*> find_tensor(const DebugContext& context, const std::string& name) {
  const ExportedCaseReply* loaded = GPUEMU_TRY(loaded_case(context));
  const auto found = std::ranges::find(loaded->tensors, name, &ExportedTensor::name);
  if (found != loaded->tensors.end()) return &*found;
  std::vector<std::string> names;
  for (const ExportedTensor& tensor : loaded->tensors) names.push_back(tensor.name);
  return error(ErrorCode::InvalidArgument, "no tensor '{}'; there are: {}", name,
               fmt::join(names, ", "));
}

Result<Tensor> values_of(DebugContext& context, const TensorRef& ref) {
  const ExportedTensor& tensor = *GPUEMU_TRY(find_tensor(context, ref.name));
  const ExportedCaseReply& loaded = *context.loaded;
  if (ref.part == "expected") {
    return named(loaded.expected, ref, "the op has no reference output of that name");
  }
  if (ref.part == "bound") {
    return named(loaded.bounds, ref, "the op has no reference output of that name");
  }
  if (ref.part == "input") return named(loaded.inputs, ref, "it is not an input");
  if (ref.part == "error") {
    const Tensor output = GPUEMU_TRY(live(context, tensor));
    const Tensor expected =
        GPUEMU_TRY(named(loaded.expected, ref, "the op has no reference output of that name"));
    if (output.shape == expected.shape) return errors_of(output, expected);
    return error(ErrorCode::InvalidArgument, "'{}' has the shape {}, the reference says {}",
                 ref.name, to_string(output.shape), to_string(expected.shape));
  }
  const bool has_input = loaded.inputs.contains(ref.name);
  if (ref.part.empty() && has_input && (context.run == nullptr || !context.ran)) {
    return loaded.inputs.at(ref.name);
  }
  return live(context, tensor);
}

Error error_of(const ErrorReply& reply) {
  const bool wrong = blames_the_request(reply.code);
  return Error{wrong ? ErrorCode::InvalidArgument : ErrorCode::Unavailable, reply.message};
}

}  // namespace gpuemu::cli
