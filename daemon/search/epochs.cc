#include "daemon/search/epochs.h"

#include <algorithm>

namespace gpuemu {
namespace {

// Sizes double every other epoch, this often.
constexpr uint64_t kSmallest = 32, kDoublings = 5;
constexpr uint64_t kGrowing = 2 * kDoublings;
constexpr uint64_t kLargest = kSmallest << kDoublings;
// Cases of all growing epochs: two of each size.
constexpr uint64_t kInGrowing = 2 * kSmallest * ((uint64_t{1} << kDoublings) - 1);

uint64_t size_of(uint64_t epoch) { return kSmallest << std::min<uint64_t>(epoch / 2, kDoublings); }

}  // namespace

uint64_t epoch_begin(uint64_t epoch) {
  if (epoch >= kGrowing) return kInGrowing + (epoch - kGrowing) * kLargest;
  uint64_t first = 0;
  for (uint64_t before = 0; before < epoch; ++before) first += size_of(before);
  return first;
}

uint64_t epoch_of(uint64_t number) {
  if (number >= kInGrowing) return kGrowing + (number - kInGrowing) / kLargest;
  uint64_t epoch = 0;
  for (uint64_t last = size_of(0); number >= last; last += size_of(epoch)) ++epoch;
  return epoch;
}

}  // namespace gpuemu
