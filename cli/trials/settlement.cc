#include "cli/trials/settlement.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <set>

#include <fmt/ranges.h>
#include <re2/re2.h>

#include "cli/trials/index_rules.h"
#include "cli/trials/memory_rules.h"
#include "cli/trials/require.h"
#include "cli/trials/size_notes.h"
#include "cli/trials/sizes.h"
#include "cli/trials/sums.h"

namespace gpuemu::cli {
namespace {

/// Returns how many sizes are needed to distinguish the products of the dims.
size_t reaches_of(size_t dims) { return dims > 3 ? 5 : 3; }

}  // namespace

size_t Settlement::learn(const std::vector<Sizes>& tries, std::string& problem) {
  observed_.sizes.clear();
  const size_t reaches = reaches_of(kernel_.dims().size());
  for (const Sizes& sizes : tries) {
    if (observed_.sizes.size() == reaches) break;
    if (trial_.runs(sizes, problem)) observed_.sizes.push_back(sizes);
  }
  const size_t ran = observed_.sizes.size();
  if (ran == 0 || ran < std::min(reaches, tries.size())) return 0;
  problem.clear();
  if (!observe() || (take_indices_for_const() && !observe())) return 0;
  indices_ = find_indices(trial_, observed_, kernel_);
  find_shapes();
  size_t known = 0;
  for (const ProposedParam& param : kernel_.params) {
    known += is_tensor(param) && !param.shape.empty();
  }
  return known;
}

size_t Settlement::tensors() const {
  return static_cast<size_t>(std::ranges::count_if(kernel_.params, is_tensor));
}

bool Settlement::finish() {
  find_roles();
  if (!name_attrs()) return false;
  const std::vector<std::string> dims = all_dims();
  Sizes base = with_tables(observed_.sizes.front());
  if (!trial_.fits(base)) {
    const auto other = std::ranges::find_if(
        observed_.sizes, [&](const Sizes& sizes) { return trial_.fits(with_tables(sizes)); });
    if (other == observed_.sizes.end()) return false;
    base = with_tables(*other);
  }
  if (!keep_values(base)) return false;
  std::vector<std::string> open;
  std::ranges::copy_if(dims, std::back_inserter(open),
                       [&](const std::string& dim) { return !indices_.limits.contains(dim); });
  AllowedSizes allowed = allowed_sizes(
      open, base, [&](const Sizes& sizes) { return trial_.fits(sizes); },
      [&](const Sizes& sizes) { return is_meant(sizes); }, divisors_of(kernel_.follows));
  kernel_.sizes = std::move(allowed.values);
  const std::set<std::string> settled = settle_tails(open, kernel_);
  const std::set<std::string> one_more = tell_one_more(kernel_);
  for (const std::string& dim : open) {
    if (settled.contains(dim) || one_more.contains(dim) || !allowed.refused.contains(dim)) {
      continue;
    }
    Sizes sizes = base;
    sizes[dim] = allowed.refused[dim];
    tell_refused(dim, allowed.refused[dim], trial_.misfit(sizes), kernel_);
  }
  kernel_.sizes.insert(indices_.limits.begin(), indices_.limits.end());
  kernel_.accumulate = sum_length(kernel_);
  return true;
}

ProposedKernel Settlement::take() {
  kernel_.sizes.insert(indices_.limits.begin(), indices_.limits.end());
  return std::move(kernel_);
}

size_t Settlement::doubts() const {
  const std::map<std::string, int64_t> tiles = tiles_of(kernel_.launch().grid);
  size_t sum = 0;
  for (const ProposedParam& tensor : kernel_.params) {
    if (!is_tensor(tensor)) continue;
    for (const std::string& text : tensor.shape) {
      const bool is_of_grid =
          std::ranges::find(kernel_.launch().grid, text) != kernel_.launch().grid.end();
      const bool is_computed = std::ranges::find(kernel_.computed, text) != kernel_.computed.end();
      sum += text.find(' ') != std::string::npos && !is_of_grid && !is_computed ? 1 : 0;
    }
    const bool is_constant = tensor.shape.size() == 1 && !kernel_.dims().empty() &&
                             tensor.shape[0].find_first_not_of("0123456789") == std::string::npos;
    // The size of a launch's block: elements after its last size are read, too.
    const bool is_block = is_constant && std::ranges::any_of(tiles, [&](const auto& tile) {
                            return std::to_string(tile.second) == tensor.shape[0];
                          });
    sum += is_block ? kDoubtsFew + 1 : is_constant ? 2 : 0;
  }
  for (const auto& [dim, values] : kernel_.sizes) {
    sum += values.find_first_not_of("0123456789") == std::string::npos ? 2 : 0;
  }
  return sum;
}

bool Settlement::observe() {
  observed_.extents.clear();
  for (const Sizes& sizes : observed_.sizes) {
    const auto seen = trial_.extents(sizes, {});
    if (!seen) return false;
    observed_.extents.push_back(*seen);
  }
  return true;
}

bool Settlement::take_indices_for_const() {
  bool found = false;
  for (ProposedParam& param : kernel_.params) {
    if (!is_tensor(param) || !is_integer(param) || param.is_const) continue;
    if (written_of(param) > 0 || is_written_in(kernel_.body, param.written)) continue;
    found = param.is_const = true;
  }
  return found;
}

bool Settlement::is_meant(const Sizes& sizes) const {
  return kernel_.require.empty() || Trial::value_of(kernel_.require, sizes).value_or(0) != 0;
}

std::vector<std::string> Settlement::all_dims() const {
  std::vector<std::string> dims = kernel_.dims();
  for (const auto& [dim, values] : indices_.limits) {
    if (std::ranges::find(dims, dim) == dims.end()) {
      dims.push_back(dim);
    }
  }
  return dims;
}

void Settlement::find_shapes() {
  for (ProposedParam& tensor : kernel_.params) {
    if (!is_tensor(tensor) || !tensor.shape.empty()) continue;
    auto shape = observed_.shape_of(kernel_, tensor, observed_.extents);
    if (shape) tensor.shape = *std::move(shape);
  }
}

uint64_t Settlement::written_of(const ProposedParam& tensor) const {
  const auto found = observed_.extents[0].written.find(tensor.name);
  return found == observed_.extents[0].written.end() ? 0 : found->second;
}

void Settlement::find_roles() {
  std::map<std::string, bool> read_first, partly;
  trial_.find_roles(observed_.sizes[0], read_first, partly);
  std::set<std::string> overwritten;
  for (ProposedParam& tensor : kernel_.params) {
    if (!is_tensor(tensor)) continue;
    const uint64_t written = written_of(tensor);
    if (written > 0 && !read_first[tensor.name]) overwritten.insert(tensor.name);
    const bool keeps = read_first[tensor.name] || partly[tensor.name] ||
                       indices_.chosen.contains(tensor.name) ||
                       observed_.extents[0].of(tensor.name) > written;
    tensor.role = written == 0 ? ParamRole::Input : keeps ? ParamRole::InOut : ParamRole::Output;
    // What a counter gives no place keeps its value, though the tried inputs filled all.
    const bool is_used =
        keeps || tensor.any_order || (written == 0 && is_written_in(kernel_.body, tensor.written));
    if (tensor.init.empty() || !is_used) {
      tensor.init.clear();
      continue;
    }
    tensor.role = ParamRole::Output;
  }
  mark_scratch(kernel_);
  mark_distinct(kernel_, indices_.tables, overwritten);
}

Sizes Settlement::with_tables(Sizes sizes) const {
  for (const auto& [dim, values] : indices_.limits) sizes[dim] = kTableRows;
  return sizes;
}

bool Settlement::name_attrs() {
  std::string all;
  for (const ProposedParam& tensor : kernel_.params) {
    for (const std::string& text : tensor.shape) {
      all += text + " ; ";
    }
  }
  for (const auto& [name, text] : kernel_.follows) all += text + " ; ";
  const ProposedLaunch& launch = kernel_.launch();
  for (const std::vector<std::string>* texts : {&launch.grid, &launch.block}) {
    for (const std::string& text : *texts) {
      all += text + " ; ";
    }
  }
  all += launch.shared + " ; " + kernel_.require;
  for (ProposedParam& param : kernel_.params) {
    if (param.role != ParamRole::Dim || kernel_.follows.contains(param.name)) continue;
    const std::string pattern = R"(\b)" + RE2::QuoteMeta(param.name) + R"(\b)";
    if (RE2::PartialMatch(all, pattern)) continue;
    // The number that host code passes is known to be right.
    if (param.values.empty() && is_row_length(kernel_, param)) return false;
    param.role = ParamRole::Attr;
    if (param.values.empty()) param.values = "[1, 7]";
  }
  return true;
}

bool Settlement::keep_values(Sizes& base) {
  for (ProposedParam& param : kernel_.params) {
    if (param.role != ParamRole::Attr || !is_integer(param)) continue;
    std::vector<int64_t> kept;
    re2::StringPiece rest(param.values);
    int64_t value = 0;
    while (RE2::FindAndConsume(&rest, R"((-?\d+))", &value)) {
      Sizes sizes = base;
      sizes[param.name] = value;
      if (trial_.fits(sizes)) kept.push_back(value);
    }
    if (kept.empty()) return false;
    base[param.name] = kept.front();
    param.values = fmt::format("[{}]", fmt::join(kept, ", "));
  }
  return true;
}

}  // namespace gpuemu::cli
