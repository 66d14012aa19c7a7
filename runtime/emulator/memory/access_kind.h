// What an access does to memory.
#pragma once

#include <cstdint>

namespace gpuemu::emulator {

enum class Access : uint8_t { Load, Store, Atomic };
/// Returns "reads", "writes" or "updates".
constexpr const char* verb(Access access) {
  return access == Access::Load ? "reads" : access == Access::Store ? "writes" : "updates";
}

}  // namespace gpuemu::emulator
