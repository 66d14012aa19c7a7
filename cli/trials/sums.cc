#include "cli/trials/sums.h"

#include <algorithm>

#include <re2/re2.h>

namespace gpuemu::cli {

std::string sum_length(const ProposedKernel& kernel) {
  std::string steps = kernel.body;
  RE2::GlobalReplace(&steps, R"(for\s*\([^;]*;[^;]*;[^)]*\))", "for");
  if (steps.find("+=") == std::string::npos) return {};
  std::string product, any;
  for (const ProposedParam& dim : kernel.params) {
    if (dim.role != ParamRole::Dim) continue;
    const std::string pattern =
        R"(for\s*\(([^;]*);[^;]*<\s*(?:min\s*\(\s*)?)" + RE2::QuoteMeta(dim.written) + R"(\b)";
    std::string begin;
    if (!RE2::PartialMatch(kernel.body, pattern, &begin)) continue;
    // A loop over the grid sums nothing if the output has the dim.
    if (any.empty() && begin.find("blockIdx") == std::string::npos) any = dim.name;
    const bool in_output = std::ranges::any_of(kernel.params, [&](const ProposedParam& out) {
      return (out.role == ParamRole::Output || out.role == ParamRole::InOut) &&
             std::ranges::find(out.shape, dim.name) != out.shape.end();
    });
    if (!in_output) product += (product.empty() ? "" : " * ") + dim.name;
  }
  return product.empty() ? any : product;
}

bool adds_floats(const ProposedKernel& kernel) {
  if (kernel.body.find("atomicAdd") == std::string::npos) return false;
  return std::ranges::any_of(kernel.params, [](const ProposedParam& param) {
    const bool real = param.dtype == "{dtype}" || param.dtype.find("float") != std::string::npos;
    return (param.role == ParamRole::InOut || !param.init.empty()) && real;
  });
}

}  // namespace gpuemu::cli
