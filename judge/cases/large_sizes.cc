// Finds the largest sizes that fit, from the op's declaration alone, so that a case still follows
// from its seed and number.
#include "judge/cases/large_sizes.h"

#include <algorithm>
#include <iterator>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "common/base/limits.h"
#include "common/base/service_limits.h"
#include "common/rng/rng.h"
#include "judge/cases/case_tensors.h"
#include "judge/cases/dims.h"
#include "judge/cases/together.h"
#include "runtime/device/device_traits.h"

namespace gpuemu {
namespace {

using Dims = std::map<std::string, int64_t>;

// The first large case is the third one of a dtype, so that ten cases include those of a matrix
// product.
constexpr uint64_t kFirstLarge = 2, kLargeEvery = 2, kDoublingFrom = 32;
/// Drawn sizes: for dims from this size on, a part of the target's between these divisors. They
/// take less time than the targets, so some may fit where the targets do not.
constexpr int64_t kDrawnFrom = 64, kLeastPart = 32, kMostPart = 4;
/// Size of the dims other than the largest one. Size 1 would not exercise their loops.
constexpr int64_t kBeside = 3;

int64_t small_size(const DimSpec& dim) {
  if (!dim.is_set) return std::clamp(kBeside, lowest(dim), highest(dim));
  int64_t best = highest(dim);
  for (const int64_t size : dim.values) {
    if (size >= kBeside) best = std::min(best, size);
  }
  return best;
}

/// Returns the part of a plan that depends only on dtype, without dims.
CasePlan plan_without_dims(const OpConfig& op, DType dtype) {
  CasePlan plan;
  plan.op = op.name;
  plan.dtype = dtype;
  for (const AttrSpec& attr : op.attrs) {
    if (!attr.values.empty()) plan.attrs[attr.name] = attr.values.front();
  }
  return plan;
}

OpConfig without_require(OpConfig op) {
  op.require.reset();
  return op;
}

/// Finds the largest sizes that fit.
class Finder {
 public:
  Finder(const OpConfig& op, DType dtype, const SizeLimits& limits, const AcceptsCase& accepts)
      : op_(op), limits_(limits), accepts_(accepts), plan_(plan_without_dims(op, dtype)) {}

  Dims all_largest() const {
    Dims dims;
    for (const DimSpec& dim : op_.dims) dims[dim.name] = highest(dim);
    return dims;
  }
  Dims one_largest(const DimSpec& which) const {
    Dims dims;
    for (const DimSpec& dim : op_.dims) {
      dims[dim.name] = &dim == &which ? highest(dim) : small_size(dim);
    }
    return dims;
  }
  bool fits(const Dims& dims, const SizeLimits& limits) const {
    return exceeded_limit(op_, with(dims), limits) == SizeLimit::None;
  }
  bool has_tensors(const Dims& dims) const {
    CasePlan plan = with(dims);
    return add_tensors(op_, plan).ok();
  }
  SizeLimit exceeded(const Dims& dims) const { return exceeded_limit(op_, with(dims), limits_); }
  /// Returns nothing if no shapes follow from the dims.
  std::optional<Dims> fitted(const Dims& wanted, const SizeLimits& limits) const {
    CasePlan plan = with(wanted);
    if (!fit(op_, plan, limits)) {
      plan = with(wanted);
      const bool fits = draw_below(op_, wanted, limits, plan) &&
                        exceeded_limit(op_, plan, limits) == SizeLimit::None;
      if (!fits) return std::nullopt;
    }
    for (const DerivedDim& dim : op_.derived_dims) plan.dims.erase(dim.name);
    return plan.dims;
  }
  /// Calls fitted(), then raises the dims again as far as halving has lowered them too much.
  std::optional<Dims> largest_of(const Dims& wanted) const {
    auto dims = fitted(wanted, limits_);
    if (!dims) return std::nullopt;
    const Dims halved = *dims;
    for (const DimSpec& dim : op_.dims) raise(dim, wanted.at(dim.name), *dims);
    return is_taken(*dims) ? dims : halved;
  }
  double elements(const Dims& dims) const {
    CasePlan plan = with(dims);
    return add_tensors(op_, plan) ? static_cast<double>(largest_tensor(plan)) : 0;
  }
  double product(const Dims& dims) const { return product_of_dims(with(dims)); }
  double bytes(const Dims& dims) const {
    CasePlan plan = with(dims);
    return add_tensors(op_, plan) ? bytes_of(plan) : 0;
  }
  bool is_taken(const Dims& dims) const {
    CasePlan plan = with(dims);
    return add_tensors(op_, plan) && (!accepts_ || accepts_(plan));
  }

 private:
  CasePlan with(const Dims& dims) const {
    CasePlan plan = plan_;
    plan.dims = dims;
    return plan;
  }
  /// Raises the dim to the largest size up to `most` that still fits with the others; if no kernel
  /// accepts that, to a multiple of a power of two.
  void raise(const DimSpec& dim, int64_t most, Dims& dims) const {
    const int64_t before = dims.at(dim.name);
    if (before >= most) return;
    const auto fits = [&](int64_t size) {
      Dims tried = dims;
      tried[dim.name] = size;
      return exceeded(tried) == SizeLimit::None;
    };
    if (dim.is_set) {
      for (const int64_t size : dim.values) {
        if (size > dims[dim.name] && size <= most && fits(size)) dims[dim.name] = size;
      }
      return;
    }
    int64_t good = before, bad = most;
    while (bad - good > 1) {
      const int64_t middle = good + (bad - good) / 2;
      (fits(middle) ? good : bad) = middle;
    }
    for (int64_t step = 1; step <= 1024; step *= 2) {
      dims[dim.name] = std::max(before, good - good % step);
      if (is_taken(dims)) return;
    }
    dims[dim.name] = before;
  }

  const OpConfig& op_;
  const SizeLimits& limits_;
  const AcceptsCase& accepts_;
  const CasePlan plan_;
};

std::string text_of(const OpConfig& op, const Dims& dims) {
  std::vector<std::string> parts;
  for (const DimSpec& dim : op.dims) {
    parts.push_back(fmt::format("{} = {}", dim.name, dims.at(dim.name)));
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

/// Returns why the dims are not run, and what to do; "" if they are not meant to be: `finder` knows
/// nothing of `require`.
std::string reason(const Finder& finder, const Dims& dims, bool is_meant,
                   const SizeLimits& limits) {
  constexpr double kMiB = 1 << 20;
  constexpr const char* kRemedy = "raise max_elements in gpuemu.toml or by --max-elements";
  switch (finder.exceeded(dims)) {
    case SizeLimit::None:
      return !is_meant ? "" : "no kernel takes such a case: look at `supports`";
    case SizeLimit::Bytes:
      return fmt::format(
          "the tensors would take {:.0f} MiB, those of one case get {:.0f} MiB, a part of "
          "runtime.memory_limit_mb; raise that",
          finder.bytes(dims) / kMiB, limits.bytes / kMiB);
    case SizeLimit::Product:
      return fmt::format(
          "the product of the dims would be {:.4g}, the limit is {} times "
          "max_elements ({}); {}",
          finder.product(dims), kWorkPerElementMax, limits.elements, kRemedy);
    case SizeLimit::Elements:
      break;
  }
  const double elements = finder.elements(dims);
  return fmt::format("a tensor would have {} elements, max_elements is {}; {}",
                     elements > 0 ? fmt::format("{:.0f}", elements) : "too many", limits.elements,
                     kRemedy);
}

/// Returns the largest size of each dim.
Dims reach_of(const std::vector<Dims>& all) {
  Dims reached;
  for (const Dims& dims : all) {
    for (const auto& [name, size] : dims) reached[name] = std::max(reached[name], size);
  }
  return reached;
}

std::vector<std::string> not_run(const OpConfig& op, const Finder& finder,
                                 const Finder& unrestricted, const std::vector<Dims>& run,
                                 const SizeLimits& limits) {
  std::vector<std::string> said;
  const auto reason_for = [&](const Dims& dims) {
    return reason(unrestricted, dims, finder.has_tensors(dims), limits);
  };
  const Dims reached = reach_of(run), all = finder.all_largest();
  if (reached.empty()) return said;
  for (const DimSpec& dim : op.dims) {
    if (reached.at(dim.name) >= highest(dim)) continue;
    const std::string why = reason_for(finder.one_largest(dim));
    if (why.empty()) continue;
    said.push_back(fmt::format("{} above {} (declared up to {}): {}", dim.name,
                               reached.at(dim.name), highest(dim), why));
  }
  const std::string why = run.front() != all ? reason_for(all) : "";
  if (said.empty() && !why.empty()) {
    said.push_back(fmt::format("{} together, the largest case has {}: {}", text_of(op, all),
                               text_of(op, run.front()), why));
  }
  return said;
}

}  // namespace

SizeLimits size_limits(const Config& config, const OpConfig& op, const std::string& backend) {
  const uint64_t usual = static_cast<uint64_t>(
      device_traits(backend).is_gpu ? kLargeElementsCuda : kLargeElementsEmulator);
  const uint64_t elements = op.max_elements.value_or(config.max_elements.value_or(usual));
  SizeLimits limits;
  limits.elements = static_cast<int64_t>(elements);
  limits.product = static_cast<double>(elements) * static_cast<double>(kWorkPerElementMax);
  limits.bytes = static_cast<double>((config.memory_limit_mb << 20) / kLargeMemoryShare);
  return limits;
}

LargeSizes large_sizes(const OpConfig& op, DType dtype, const SizeLimits& limits,
                       const AcceptsCase& accepts) {
  LargeSizes large{limits, {}, {}};
  const Finder finder(op, dtype, limits, accepts);
  const Dims all = finder.all_largest();
  const OpConfig unrestricted_op = without_require(op);
  const Finder unrestricted(unrestricted_op, dtype, limits, accepts);
  const SizeLimits usual{.elements = std::min(limits.elements, kUsualElementsMax)};
  // Where only `require` excludes the largest sizes together, usual cases have all that it admits.
  if (op.require && unrestricted.fits(all, usual)) return large;
  const auto usually = finder.fitted(all, usual);
  const auto most = finder.largest_of(all);
  if (!usually || !most || *usually == all) return large;
  std::vector<Dims> run{*usually};
  if (finder.product(*most) > finder.product(*usually) && finder.is_taken(*most)) {
    run.front() = *most;
    large.targets.push_back(*most);
  }
  for (const DimSpec& dim : op.dims) {
    if (run.front().at(dim.name) >= highest(dim)) continue;
    const auto one = finder.largest_of(finder.one_largest(dim));
    if (!one || one->at(dim.name) <= run.front().at(dim.name) || !finder.is_taken(*one)) continue;
    large.targets.push_back(*one);
    run.push_back(*one);
  }
  large.not_run = not_run(op, finder, unrestricted, run, limits);
  return large;
}

std::vector<uint64_t> large_rows(size_t targets) {
  std::vector<uint64_t> rows;
  if (targets == 0) return rows;
  for (size_t turn = 0; turn < std::max<size_t>(2, targets); ++turn) {
    rows.push_back(kFirstLarge + turn * kLargeEvery);
  }
  for (uint64_t row = kDoublingFrom; row <= kIterationsMax; row *= 2) {
    if (row > rows.back()) rows.push_back(row);
  }
  return rows;
}

LargeTurn large_turn(uint64_t row, size_t targets) {
  const std::vector<uint64_t> rows = large_rows(targets);
  const auto at = std::ranges::lower_bound(rows, row);
  return {static_cast<uint64_t>(at - rows.begin()), at != rows.end() && *at == row};
}

void choose_large(const OpConfig& op, const LargeSizes& large, uint64_t turn,
                  const std::vector<Strategy>& values, CasePlan& plan) {
  const size_t count = large.targets.size();
  plan.dims = large.targets[turn % count];
  plan.shape_strategy = Strategy::Largest;
  for (const DimSpec& dim : op.dims) {
    int64_t& size = plan.dims[dim.name];
    if (turn < count || size < kDrawnFrom) continue;
    Stream stream(plan.base_seed, plan.iteration, "dim/" + dim.name);
    const int64_t least = std::max(lowest(dim), size / kLeastPart);
    const int64_t most = std::max(least, size / kMostPart);
    if (dim.is_set) {
      std::vector<int64_t> sizes;
      std::ranges::copy_if(dim.values, std::back_inserter(sizes),
                           [&](int64_t one) { return one >= least && one <= most; });
      if (!sizes.empty()) size = sizes[stream.below(sizes.size())];
    } else {
      const int64_t odd = std::max(least, stream.integer(least, most) - 1) | 1;
      size = std::min(size, odd);
    }
  }
  // These cases test sizes. Long sums of small whole numbers are exact in any order; with other
  // values a correct kernel may have more rounding errors than a reference shows.
  plan.value_strategy = values[turn % values.size()];
  for (const Strategy ordinary : {Strategy::Normal, Strategy::Uniform10, Strategy::SmallInt}) {
    if (std::ranges::find(values, ordinary) != values.end()) plan.value_strategy = ordinary;
  }
}

}  // namespace gpuemu
