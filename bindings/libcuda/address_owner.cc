#include "bindings/libcuda/address_owner.h"

#include <array>
#include <charconv>
#include <cstdio>
#include <fstream>
#include <string_view>

#include <fmt/core.h>
#include <sys/mman.h>
#include <unistd.h>

#include "runtime/emulator/memory/fence.h"

namespace gpuemu::libcuda {
namespace {

/// Nothing is mapped below this, so such an address is an offset from a null pointer.
constexpr uint64_t kFirstAddress = uint64_t{64} << 10;

bool is_mapped(uint64_t address) {
  if (emulator::Fence::instance().holds(address)) return false;  // Addresses of devices.
  const auto page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  unsigned char resident = 0;
  return mincore(reinterpret_cast<void*>(address / page * page), 1, &resident) == 0;
}

std::string closed_memory(const Allocation& what) {
  return fmt::format(
      "memory of device {}: its kernels alone can use it, until peer access is enabled",
      what.device);
}

}  // namespace

std::string owner_of(uint64_t address, const Allocations& allocations, Allocations::Shared& what) {
  if (address == 0) return "which is a null pointer";
  if (address < kFirstAddress) return "which is an offset from a null pointer";
  what = allocations.holding(address);
  if (what != nullptr) {
    return fmt::format("which is in '{}', {}", what->name, closed_memory(*what));
  }
  return is_mapped(address)
             ? "which is memory of the host that is neither pinned, registered nor managed"
             : "which belongs to no allocation";
}

Allocations::Shared name_owner(std::string& message, const Allocations& allocations,
                               uint64_t& address) {
  const size_t end = message.find(std::string(", ") + kBelongsToNone);
  const size_t begin = end == message.npos ? end : message.rfind("0x", end);
  if (begin == message.npos) return nullptr;
  const char* const digits = message.data() + begin + 2;
  const auto [stop, wrong] = std::from_chars(digits, message.data() + end, address, 16);
  if (wrong != std::errc() || stop != message.data() + end) return nullptr;
  Allocations::Shared what;
  const std::string owner = owner_of(address, allocations, what);
  message.replace(end + 2, std::string_view(kBelongsToNone).size(), owner);
  return what;
}

bool is_private_memory(uint64_t address, uint64_t bytes) {
  // Lines are in the order of the addresses: "7f0012340000-7f0012350000 rw-p 00000000 00:00 0".
  std::ifstream maps("/proc/self/maps");
  const uint64_t end = address + bytes;
  if (end < address) return false;
  for (std::string line; address < end && std::getline(maps, line);) {
    uint64_t first = 0, behind = 0;
    std::array<char, 5> access{};
    unsigned long inode = 1;
    if (std::sscanf(line.c_str(), "%lx-%lx %4s %*x %*s %lu", &first, &behind, access.data(),
                    &inode) != 4) {
      return false;
    }
    if (behind <= address) continue;
    if (first > address || inode != 0 || std::string_view(access.data()) != "rw-p") return false;
    address = behind;
  }
  return address >= end;
}

void name_closed(std::string& message, const Allocation& what) {
  constexpr std::string_view kFreed = "which was freed";
  const size_t at = message.find(kFreed);
  if (what.freed == nullptr && at != message.npos) {
    message.replace(at, kFreed.size(), "which is " + closed_memory(what));
  }
}

}  // namespace gpuemu::libcuda
