// Fills memory with copies of one element.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <span>

namespace gpuemu {

/// Writes the element to all places of `to`. Requires the size of `to` to be a multiple of the
/// element's.
inline void fill_elements(std::span<const std::byte> element, std::span<std::byte> to) {
  if (element.empty() || to.empty()) return;
  std::ranges::copy(element, to.begin());
  for (size_t done = element.size(); done < to.size(); done *= 2) {
    std::memcpy(to.data() + done, to.data(), std::min(done, to.size() - done));
  }
}

}  // namespace gpuemu
