#include "runtime/device/holders.h"

#include <algorithm>

#include <fmt/core.h>

namespace gpuemu {
namespace {

/// What fits a line.
constexpr size_t kHoldersListed = 5;

}  // namespace

std::string largest_holders(std::vector<Holder> holders) {
  std::ranges::sort(holders, [](const Holder& a, const Holder& b) {
    if (a.bytes != b.bytes) return a.bytes > b.bytes;
    return a.name != b.name ? a.name < b.name : a.address < b.address;
  });
  if (holders.size() > kHoldersListed) holders.resize(kHoldersListed);
  std::string out;
  for (const Holder& holder : holders) {
    out += fmt::format("{}'{}' {}", out.empty() ? "" : ", ", holder.name, holder.bytes);
    if (std::ranges::count(holders, holder.name, &Holder::name) > 1)
      out += fmt::format(" at {:#x}", holder.address);
  }
  return out;
}

Error out_of_memory(std::string_view name, uint64_t bytes, const MemoryUse& use,
                    std::vector<Holder> holders) {
  const size_t count = holders.size();
  const std::string largest = largest_holders(std::move(holders));
  return error(ErrorCode::ResourceExhausted,
               "out of memory: '{}' of {} bytes exceeds {}: {} of {} bytes are in use by {} "
               "allocations{}{}",
               name, bytes, use.where, use.used_bytes, use.total_bytes, count,
               largest.empty() ? "" : "; the largest: ", largest);
}

}  // namespace gpuemu
