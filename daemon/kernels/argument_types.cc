#include "daemon/kernels/argument_types.h"

#include <algorithm>
#include <optional>
#include <string_view>

#include <fmt/core.h>

#include "common/numeric/dtype.h"
#include "runtime/compile/source_text/entry_names.h"

namespace gpuemu {
namespace {

struct PointedType {
  std::string_view cpp;
  size_t bytes;
  std::string_view dtype;
};
// Names as the demangler spells them. Pointers to bytes may point to anything.
constexpr PointedType kPointed[] = {
    {"short", 2, "int16"},    {"unsigned short", 2, "uint16"},
    {"__half", 2, "float16"}, {"__nv_bfloat16", 2, "bfloat16"},
    {"int", 4, "int32"},      {"unsigned int", 4, "uint32"},
    {"float", 4, "float32"},
};

/// Returns the type that a parameter such as "int const*" points to; null if it is none of these.
const PointedType* pointed_type(std::string_view parameter) {
  if (!parameter.ends_with('*')) return nullptr;
  parameter.remove_suffix(1);
  constexpr std::string_view kConst = " const";
  if (parameter.ends_with(kConst)) parameter.remove_suffix(kConst.size());
  const auto found = std::ranges::find(kPointed, parameter, &PointedType::cpp);
  return found == std::end(kPointed) ? nullptr : &*found;
}

std::optional<DType> dtype_of(const OpConfig& op, const std::string& tensor, DType dtype) {
  for (const auto* specs : {&op.inputs, &op.outputs}) {
    const auto spec = std::ranges::find(*specs, tensor, &TensorSpec::name);
    if (spec == specs->end() || spec->dtype.empty()) continue;
    return spec->dtype == "{dtype}" ? dtype : dtype_from_alias(spec->dtype);
  }
  return std::nullopt;
}

}  // namespace

std::vector<std::string> wider_tensors(const OpConfig& op, const KernelConfig& kernel,
                                       const PreparedKernel& prepared, DType dtype) {
  std::vector<std::string> said;
  for (size_t i = 0; i < kernel.launches.size() && i < prepared.entries.size(); ++i) {
    const std::vector<std::string> types = compile::parameter_types(prepared.entries[i]);
    const std::vector<LaunchSpec::Arg>& args = kernel.launches[i].args;
    for (size_t at = 0; at < args.size() && at < types.size(); ++at) {
      if (args[at].kind != LaunchSpec::Arg::Kind::Tensor) continue;
      const PointedType* type = pointed_type(types[at]);
      const auto declared = dtype_of(op, args[at].tensor, dtype);
      if (type == nullptr || !declared || byte_size(*declared) <= type->bytes) continue;
      said.push_back(
          fmt::format("'{}' has dtype {}, but {} takes it as {}; declare it with dtype "
                      "\"{}\"",
                      args[at].tensor, name_of(*declared), kernel.name, types[at], type->dtype));
    }
  }
  return said;
}

}  // namespace gpuemu
