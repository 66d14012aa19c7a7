// Texture objects of the device, by handle.
#pragma once

#include <cstdint>
#include <map>

#include "runtime/device/texture.h"

namespace gpuemu::emulator {

class Textures {
 public:
  /// A handle that no other object of this device ever had.
  uint64_t add(const TextureConfig& config) {
    all_[++last_] = config;
    return last_;
  }
  bool remove(uint64_t handle) { return all_.erase(handle) != 0; }
  /// Null if `handle` is not a handle.
  const TextureConfig* find(uint64_t handle) const {
    const auto found = all_.find(handle);
    return found == all_.end() ? nullptr : &found->second;
  }

 private:
  std::map<uint64_t, TextureConfig> all_;
  uint64_t last_ = uint64_t{1} << 40;  ///< Far from the small numbers that kernels compute with.
};

}  // namespace gpuemu::emulator
