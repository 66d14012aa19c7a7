#include "cli/trials/sums.h"

#include <algorithm>

#include <re2/re2.h>

#include "cli/cuda_text/host_launch.h"

namespace gpuemu::cli {
namespace {

/// Returns the product of sizes to which the limit of a loop is set; "" for none.
std::string length_of_local(const ProposedKernel& kernel) {
  static const RE2 kFactor(R"(\s*(\w+)\s*(?:\*|$))");
  for (const auto& [name, value] : declared_values(kernel.body)) {
    const std::string loop = R"(for\s*\([^;]*;[^;]*<\s*)" + RE2::QuoteMeta(name) + R"(\s*;)";
    if (!RE2::PartialMatch(kernel.body, loop)) continue;
    std::string product, factor;
    re2::StringPiece rest(value);
    while (RE2::Consume(&rest, kFactor, &factor)) {
      const ProposedParam* dim = param_written(kernel, factor);
      if (dim == nullptr || dim->role != ParamRole::Dim) break;
      product += (product.empty() ? "" : " * ") + dim->name;
      if (rest.empty()) return product;
    }
  }
  return {};
}

}  // namespace

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
    if (in_output) continue;
    product += (product.empty() ? "" : " * ") + dim.name;
    // The rows and columns of a square.
    const std::string again = pattern + R"([^;]*;[^)]*\)\s*\{?\s*for\s*\([^;]*;[^;]*<\s*)" +
                              RE2::QuoteMeta(dim.written) + R"(\b)";
    if (RE2::PartialMatch(kernel.body, again)) product += " * " + dim.name;
  }
  if (!product.empty()) return product;
  return any.empty() ? length_of_local(kernel) : any;
}

bool adds_floats(const ProposedKernel& kernel) {
  if (kernel.body.find("atomicAdd") == std::string::npos) return false;
  return std::ranges::any_of(kernel.params, [](const ProposedParam& param) {
    const bool real = param.dtype == "{dtype}" || param.dtype.find("float") != std::string::npos;
    return (param.role == ParamRole::InOut || !param.init.empty()) && real;
  });
}

}  // namespace gpuemu::cli
