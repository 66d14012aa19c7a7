#include "judge/inbounds/space.h"

#include <fmt/core.h>

#include "common/base/limits.h"

namespace gpuemu::prove {

Poly LaunchSpace::add_region(Region region) {
  AtomInfo base;
  base.name = "&" + region.name;
  base.region = static_cast<int32_t>(regions.size());
  regions.push_back(std::move(region));
  return Poly::atom(atoms.add(std::move(base)));
}

void LaunchSpace::add_threads() {
  // What a launch may be at most; a larger one fails before any thread runs.
  constexpr std::array<int64_t, 3> kGridMost = {kGridXMax, 65535, 65535};
  constexpr std::array<int64_t, 3> kBlockMost = {1024, 1024, 64};
  constexpr int64_t kThreadsMost = 1024;
  const char* axes = "xyz";
  const auto index = [&](const char* name, size_t axis, const Poly& count, int64_t most) {
    AtomInfo info;
    info.name = fmt::format("{}.{}", name, axes[axis]);
    const Interval range = atoms.interval(count);
    info.range = {0, (range.has_high() ? std::min(range.high, most) : most) - 1};
    const Atom atom = atoms.add(std::move(info));
    atoms[atom].facts.push_back(count - Poly(1) - Poly::atom(atom));
    return Poly::atom(atom);
  };
  Poly threads(1);
  for (size_t axis = 0; axis < 3; ++axis) {
    for (const Poly& size : {grid[axis], block[axis]}) {
      if (!size.constant()) known.facts.push_back(size - Poly(1));
    }
    if (!grid[axis].constant()) known.facts.push_back(Poly(kGridMost[axis]) - grid[axis]);
    if (!block[axis].constant()) known.facts.push_back(Poly(kBlockMost[axis]) - block[axis]);
    threads = threads * block[axis];
    block_index[axis] = index("blockIdx", axis, grid[axis], kGridMost[axis]);
    thread_index[axis] = index("threadIdx", axis, block[axis], kBlockMost[axis]);
  }
  if (!threads.constant()) known.facts.push_back(Poly(kThreadsMost) - threads);
}

}  // namespace gpuemu::prove
