#include "judge/cases/together.h"

#include <algorithm>
#include <map>
#include <optional>
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

/// Returns sizes to try: the ends of the range, and the sizes of other dims, because incompatible
/// sizes often become compatible there.
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

/// Returns the dim without its sizes above `most`.
DimSpec lowered(const DimSpec& dim, int64_t most) {
  DimSpec low = dim;
  if (dim.is_set) {
    std::erase_if(low.values, [most](int64_t size) { return size > most; });
    return low.values.empty() ? dim : low;
  }
  low.values.back() = std::clamp(most, dim.values.front(), dim.values.back());
  return low;
}

/// Lowers one dim of the plan slightly until its sizes are compatible. Leaves the plan unchanged if
/// that fails.
bool step_down(const OpConfig& op, CasePlan& plan) {
  constexpr int kStepsMax = 128;
  const std::map<std::string, int64_t> drawn = plan.dims;
  std::map<std::string, int64_t> lower = drawn;
  for (int step = 0; step < kStepsMax; ++step) {
    for (const DimSpec& dim : op.dims) {
      int64_t& size = lower[dim.name];
      const int64_t next = dim.is_set ? smaller_size(dim, size) : size - 1;
      if (next == size || !may_be(dim, next)) continue;
      size = next;
      plan.dims = drawn;
      plan.dims[dim.name] = size;
      if (go_together(op, plan)) return true;
    }
  }
  plan.dims = drawn;
  return false;
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

/// Draws other values of the attrs, and sizes for them, because some values allow no size.
bool draw_attrs(const OpConfig& op, const SizeLimits& limits, CasePlan& plan) {
  constexpr int kAttrDrawsMax = 16;
  const bool has_other =
      std::ranges::any_of(op.attrs, [](const AttrSpec& attr) { return attr.values.size() > 1; });
  for (int turn = 0; has_other && turn < kAttrDrawsMax; ++turn) {
    CasePlan made = plan;
    for (const AttrSpec& attr : op.attrs) {
      if (attr.values.empty()) continue;
      Stream stream(plan.base_seed, plan.iteration,
                    fmt::format("together/attrs/{}/{}", turn, attr.name));
      made.attrs[attr.name] = attr.values[stream.below(attr.values.size())];
    }
    make_go_together(op, made);
    const std::map<std::string, int64_t> most = made.dims;
    if (fit(op, made, limits) || draw_below(op, most, limits, made)) {
      plan = std::move(made);
      return true;
    }
  }
  return false;
}

}  // namespace

void make_go_together(const OpConfig& op, CasePlan& plan) {
  if (op.dims.empty() || go_together(op, plan)) return;
  if (!change_one(op, plan)) draw_all(op, plan);
}

void keep_together(const OpConfig& op, CasePlan& plan) {
  if (op.dims.empty() || go_together(op, plan)) return;
  if (!step_down(op, plan)) make_go_together(op, plan);
}

bool draw_below(const OpConfig& op, const std::map<std::string, int64_t>& most,
                const SizeLimits& limits, CasePlan& plan) {
  std::optional<CasePlan> best;
  bool best_fits = false;
  double best_product = 0;
  // A limit may be far below `most`, so every second draw uses a range that is halved up to 15
  // times.
  constexpr int kHalvings = 16;
  for (int turn = 0; turn < kDrawsMax; ++turn) {
    CasePlan made = plan;
    for (const DimSpec& dim : op.dims) {
      made.dims[dim.name] = most.at(dim.name);
      if (turn == 0) continue;  // The first draw is `most` itself.
      Stream stream(plan.base_seed, plan.iteration, fmt::format("below/{}/{}", turn, dim.name));
      const int halvings = turn % 2 == 0 ? 0 : turn / 2 % kHalvings;
      const int64_t below = std::max<int64_t>(1, most.at(dim.name) >> halvings);
      made.dims[dim.name] = drawn_size(lowered(dim, below), stream);
    }
    if (!go_together(op, made) && !step_down(op, made)) continue;
    if (!add_tensors(op, made)) continue;
    const bool fits = exceeded_limit(op, made, limits) == SizeLimit::None;
    const double product = product_of_dims(made);
    const bool is_better =
        !best || (fits && !best_fits) ||
        (fits == best_fits && (fits ? product > best_product : product < best_product));
    if (!is_better) continue;
    best = std::move(made);
    best_fits = fits;
    best_product = product;
  }
  if (!best) return false;
  plan = *std::move(best);
  return true;
}

Status fit_together(const OpConfig& op, CasePlan& plan, const SizeLimits& limits) {
  CasePlan other = plan;
  const Status fitted = fit(op, plan, limits);
  if (fitted || op.dims.empty()) return fitted;
  const std::map<std::string, int64_t> most = other.dims;
  if (!draw_below(op, most, limits, other) && !draw_attrs(op, limits, other)) return fitted;
  plan = std::move(other);
  return ok_status();
}

}  // namespace gpuemu
