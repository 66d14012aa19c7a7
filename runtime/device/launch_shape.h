// The geometry of a launch: grid, block, cluster and shared memory.
#pragma once

#include <cstdint>

namespace gpuemu {

struct Dim3 {
  uint32_t x = 1, y = 1, z = 1;
  bool operator==(const Dim3&) const = default;
};

struct LaunchShape {
  Dim3 grid, block;
  Dim3 cluster{0, 0, 0};  ///< In blocks; zeros: the cluster that the entry declares, else one
                          ///< block.
  uint32_t dynamic_shared_bytes = 0;
  /// The program asked for clusters that only some devices can run
  /// (cudaFuncAttributeNonPortableClusterSizeAllowed).
  bool allows_large_clusters = false;
};

}  // namespace gpuemu
