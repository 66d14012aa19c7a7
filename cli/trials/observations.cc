#include "cli/trials/observations.h"

#include <algorithm>

#include <re2/re2.h>

namespace gpuemu::cli {
namespace {

bool names(const std::string& text, const std::string& dim) {
  return RE2::PartialMatch(text, R"(\b)" + RE2::QuoteMeta(dim) + R"(\b)");
}

std::vector<DerivedSize> sizes_of_grid(const ProposedKernel& kernel, const ProposedParam& tensor,
                                       const std::vector<Sizes>& tried) {
  std::vector<DerivedSize> all;
  for (const std::string& text : kernel.launch().grid) {
    DerivedSize one{.text = text, .values = {}};
    one.is_per_block = is_per_block(tensor.written, kernel.body);
    for (const Sizes& sizes : tried) {
      one.values.push_back(Trial::value_of(text, sizes).value_or(0));
    }
    one.only_grid = std::ranges::any_of(kernel.launch().grid_dims,
                                        [&](const std::string& dim) { return names(text, dim); });
    all.push_back(std::move(one));
  }
  return all;
}

/// Returns the kernel's text with each size that equals a dim replaced by that dim.
std::string body_with_dims(const ProposedKernel& kernel) {
  std::string body = kernel.body;
  for (const auto& [name, value] : kernel.follows) {
    if (value.find(' ') != std::string::npos) continue;
    RE2::GlobalReplace(&body, R"(\b)" + RE2::QuoteMeta(name) + R"(\b)", value);
  }
  return body;
}

}  // namespace

std::optional<std::vector<std::string>> Observations::shape_of(
    const ProposedKernel& kernel, const ProposedParam& tensor,
    const std::vector<Extents>& seen) const {
  std::vector<Reach> reaches;
  for (size_t i = 0; i < seen.size(); ++i) {
    // The last element of a float4 may be read without being used.
    const uint64_t whole = (seen[i].of(tensor.name) + tensor.lanes - 1) / tensor.lanes;
    if (whole == 0) return std::nullopt;
    Sizes known = sizes[i];
    for (const std::string& text : kernel.computed) {
      known[text] = Trial::value_of(text, sizes[i]).value_or(0);
    }
    reaches.push_back({std::move(known), whole * tensor.lanes});
  }
  return fit_shape(reaches, nested(kernel.dims(), tensor.written, body_with_dims(kernel)),
                   sizes_of_grid(kernel, tensor, sizes), kernel.computed);
}

}  // namespace gpuemu::cli
