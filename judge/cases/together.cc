#include "judge/cases/together.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "common/rng/rng.h"
#include "judge/cases/case_tensors.h"
#include "judge/cases/dims.h"

namespace gpuemu {
namespace {

constexpr int kDrawsMax = 64;

bool may_be(const DimSpec& dim, int64_t size) {
  const auto [low, high] = std::ranges::minmax(dim.values);
  return dim.is_set ? std::ranges::find(dim.values, size) != dim.values.end()
                    : size >= low && size <= high;
}

/// A candidate: one dim with another size.
struct Change {
  const DimSpec* dim = nullptr;
  int64_t size = 0;
};

/// Sizes to try: the ends of the range and the sizes of the other dims, where incompatible sizes
/// often just become compatible.
std::vector<Change> changes_of(const OpConfig& op, const CasePlan& plan, Stream& stream) {
  std::vector<Change> all;
  for (const DimSpec& dim : op.dims) {
    std::vector<int64_t> sizes{std::ranges::max(dim.values), std::ranges::min(dim.values)};
    for (const auto& [name, size] : plan.dims) sizes.push_back(size);
    for (const int64_t size : sizes) {
      if (may_be(dim, size)) all.push_back({&dim, size});
    }
  }
  for (size_t i = all.size(); i-- > 1;) std::swap(all[i], all[stream.below(i + 1)]);
  return all;
}

bool change_one(const OpConfig& op, CasePlan& plan) {
  Stream stream(plan.base_seed, plan.iteration, "together");
  const std::map<std::string, int64_t> drawn = plan.dims;
  for (const Change& change : changes_of(op, plan, stream)) {
    plan.dims = drawn;
    plan.dims[change.dim->name] = change.size;
    if (go_together(op, plan)) return true;
  }
  plan.dims = drawn;
  return false;
}

bool draw_all(const OpConfig& op, CasePlan& plan) {
  const std::map<std::string, int64_t> drawn = plan.dims;
  for (int turn = 0; turn < kDrawsMax; ++turn) {
    for (const DimSpec& dim : op.dims) {
      Stream stream(plan.base_seed, plan.iteration, fmt::format("together/{}/{}", turn, dim.name));
      plan.dims[dim.name] = drawn_size(dim, stream);
    }
    if (go_together(op, plan)) return true;
  }
  plan.dims = drawn;
  return false;
}

}  // namespace

void make_go_together(const OpConfig& op, CasePlan& plan) {
  if (op.dims.empty() || go_together(op, plan)) return;
  if (!change_one(op, plan)) draw_all(op, plan);
}

}  // namespace gpuemu
