// The texture objects of a device, by handle.
#pragma once

#include <cstdint>
#include <map>

#include "runtime/device/texture.h"

namespace gpuemu::emulator {

class Textures {
 public:
  /// Adds a texture and returns a handle that this device never used before.
  uint64_t add(const TextureConfig& config) {
    all_[++last_] = config;
    return last_;
  }
  bool remove(uint64_t handle) { return all_.erase(handle) != 0; }
  /// Returns null for an unknown handle.
  const TextureConfig* find(uint64_t handle) const {
    const auto found = all_.find(handle);
    return found == all_.end() ? nullptr : &found->second;
  }

 private:
  std::map<uint64_t, TextureConfig> all_;
  uint64_t last_ = uint64_t{1} << 40;  ///< Far from the small numbers that kernels compute with.
};

}  // namespace gpuemu::emulator
