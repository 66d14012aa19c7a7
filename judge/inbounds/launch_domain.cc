#include "judge/inbounds/launch_domain.h"

#include <fmt/core.h>

#include "common/base/limits.h"

namespace gpuemu::inbounds {

Polynomial LaunchDomain::add_region(Region region) {
  SymbolInfo base;
  base.name = "&" + region.name;
  base.region = static_cast<int32_t>(regions.size());
  regions.push_back(std::move(region));
  return Polynomial::symbol(symbols.add(std::move(base)));
}

void LaunchDomain::add_threads() {
  // Hardware limits; a larger launch fails before any thread runs.
  constexpr std::array<int64_t, 3> kGridMost = {kGridXMax, 65535, 65535};
  constexpr std::array<int64_t, 3> kBlockMost = {1024, 1024, 64};
  constexpr int64_t kThreadsMost = 1024;
  const char* axes = "xyz";
  const auto index = [&](const char* name, size_t axis, const Polynomial& count, int64_t most) {
    SymbolInfo info;
    info.name = fmt::format("{}.{}", name, axes[axis]);
    const Interval range = symbols.interval(count);
    info.range = {0, (range.has_high() ? std::min(range.high, most) : most) - 1};
    const Symbol symbol = symbols.add(std::move(info));
    symbols[symbol].facts.push_back(count - Polynomial(1) - Polynomial::symbol(symbol));
    return Polynomial::symbol(symbol);
  };
  Polynomial threads(1);
  for (size_t axis = 0; axis < 3; ++axis) {
    for (const Polynomial& size : {grid[axis], block[axis]}) {
      if (!size.constant()) known.facts.push_back(size - Polynomial(1));
    }
    if (!grid[axis].constant()) known.facts.push_back(Polynomial(kGridMost[axis]) - grid[axis]);
    if (!block[axis].constant()) known.facts.push_back(Polynomial(kBlockMost[axis]) - block[axis]);
    threads = threads * block[axis];
    block_index[axis] = index("blockIdx", axis, grid[axis], kGridMost[axis]);
    thread_index[axis] = index("threadIdx", axis, block[axis], kBlockMost[axis]);
  }
  if (!threads.constant()) known.facts.push_back(Polynomial(kThreadsMost) - threads);
}

}  // namespace gpuemu::inbounds
