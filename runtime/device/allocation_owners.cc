#include "runtime/device/allocation_owners.h"

#include <algorithm>

#include <fmt/core.h>

namespace gpuemu {
namespace {

/// As many names as fit on one line of a message.
constexpr size_t kHoldersListed = 5;

}  // namespace

std::string largest_owners(std::vector<AllocationOwner> owners) {
  std::ranges::sort(owners, [](const AllocationOwner& a, const AllocationOwner& b) {
    if (a.bytes != b.bytes) return a.bytes > b.bytes;
    return a.name != b.name ? a.name < b.name : a.address < b.address;
  });
  if (owners.size() > kHoldersListed) owners.resize(kHoldersListed);
  std::string out;
  for (const AllocationOwner& holder : owners) {
    out += fmt::format("{}'{}' {}", out.empty() ? "" : ", ", holder.name, holder.bytes);
    if (std::ranges::count(owners, holder.name, &AllocationOwner::name) > 1) {
      out += fmt::format(" at {:#x}", holder.address);
    }
  }
  return out;
}

Error out_of_memory(std::string_view name, uint64_t bytes, const MemoryUse& use,
                    std::vector<AllocationOwner> owners) {
  const size_t count = owners.size();
  const std::string largest = largest_owners(std::move(owners));
  return error(ErrorCode::ResourceExhausted,
               "out of memory: '{}' of {} bytes exceeds {}: {} of {} bytes are in use by {} "
               "allocations{}{}",
               name, bytes, use.where, use.used_bytes, use.total_bytes, count,
               largest.empty() ? "" : "; the largest: ", largest);
}

}  // namespace gpuemu
