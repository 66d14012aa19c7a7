#include "cli/trials/require.h"

#include <algorithm>
#include <utility>

#include <fmt/core.h>
#include <re2/re2.h>

namespace gpuemu::cli {
namespace {

// Each one costs a separate search.
constexpr size_t kRequirementsMax = 6;

bool has(const std::string& body, const std::string& pattern) {
  return RE2::PartialMatch(body, pattern);
}

std::string word(const ProposedParam& dim) {
  return R"(\b)" + RE2::QuoteMeta(dim.written) + R"(\b)";
}

/// Matches only a comparison with the size alone: "< n * m" says nothing about n.
bool is_compared(const std::string& body, const ProposedParam& dim) {
  return has(body, R"([<>]=?\s*)" + word(dim) + R"(\s*(?:[;)&|?,]|$))");
}

bool is_multiplied(const std::string& body, const ProposedParam& dim) {
  return has(body, R"(\*\s*(?:\([\w ]+\)\s*)?)" + word(dim)) || has(body, word(dim) + R"(\s*\*)");
}

}  // namespace

bool Requirement::holds(const Sizes& sizes) const {
  const auto a = sizes.find(larger), b = sizes.find(other);
  if (a == sizes.end() || b == sizes.end() || b->second == 0) return true;
  return is_multiple ? a->second % b->second == 0 : a->second >= b->second;
}

Sizes Requirement::met(const Sizes& sizes) const {
  Sizes out = sizes;
  if (holds(sizes)) return out;
  if (is_multiple) {
    out[larger] *= out[other];
  } else {
    std::swap(out[larger], out[other]);
  }
  return out;
}

bool is_compared(const ProposedKernel& kernel, const std::string& dim) {
  const auto param = std::ranges::find(kernel.params, dim, &ProposedParam::name);
  return param == kernel.params.end() || is_compared(kernel.body, *param);
}

bool is_row_length(const ProposedKernel& kernel, const ProposedParam& dim) {
  // "2 * radius + 1" is not one.
  return has(kernel.body, R"(\[[^\]=;]*[A-Za-z_)]\w*\s*\*\s*)" + word(dim)) ||
         has(kernel.body, R"(blockIdx\.\w\s*\*\s*)" + word(dim));
}

std::vector<Requirement> requirements_of(const ProposedKernel& kernel) {
  std::vector<const ProposedParam*> dims;
  for (const ProposedParam& param : kernel.params) {
    if (param.role == ParamRole::Dim && !kernel.follows.contains(param.name)) {
      dims.push_back(&param);
    }
  }
  std::vector<Requirement> multiples, orders;
  for (const ProposedParam* a : dims) {
    for (const ProposedParam* b : dims) {
      if (a == b) continue;
      if (has(kernel.body, word(*a) + R"(\s*[/%]\s*)" + word(*b))) {
        multiples.push_back(
            {fmt::format("{} % {} == 0", a->name, b->name), a->name, b->name, true});
      }
      const bool is_order = is_multiplied(kernel.body, *a) && !is_compared(kernel.body, *a) &&
                            is_compared(kernel.body, *b);
      if (is_order) {
        orders.push_back({fmt::format("{} <= {}", b->name, a->name), a->name, b->name, false});
      }
    }
  }
  multiples.insert(multiples.end(), orders.begin(), orders.end());
  if (multiples.size() > kRequirementsMax) multiples.resize(kRequirementsMax);
  return multiples;
}

}  // namespace gpuemu::cli
