// Guesses the threads of a block from the text of a kernel.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/cuda_text/definitions.h"
#include "cli/cuda_text/source_scan.h"

namespace gpuemu::cli {

inline constexpr int64_t kBlockThreadsMax = 1024, kThreadsUsual = 256;

/// A block whose text shows its threads and elements: "blockIdx.x * 32 + threadIdx.x".
struct BlockTile {
  std::vector<std::string> threads;  ///< Along each axis; empty if the text does not show them.
  std::vector<std::string> elements;
};

BlockTile tile_of(const std::string& body, const Definitions& known);

/// Returns the threads along each axis, for a kernel whose threads have two coordinates if
/// `plane`.
std::vector<std::string> guessed_block(const SourceKernel& source, const Definitions& known,
                                       bool plane);

}  // namespace gpuemu::cli
