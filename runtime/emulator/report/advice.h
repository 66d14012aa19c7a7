// Suggests how to fix a race, in terms of the kernel's language.
#pragma once

#include <string_view>

#include "runtime/ptx/language.h"

namespace gpuemu::ptx {
struct Instruction;
}  // namespace gpuemu::ptx

namespace gpuemu::emulator {

/// Returns the barrier of a block, for example "__syncthreads()".
std::string_view block_barrier(ptx::Language language);
/// Returns the barrier of one warp, for example "__syncwarp()".
std::string_view warp_barrier(ptx::Language language);
/// Returns for example "cluster.sync()".
std::string_view cluster_barrier(ptx::Language language);

enum class GlobalRace : uint8_t {
  InBlock,
  InOneLine,  ///< Threads of one block execute the same line, so no barrier fits in between.
  BetweenBlocks,
  Unfenced,      ///< A flag announces what another block wrote, without a fence in between.
  NarrowAtomic,  ///< An atomic of block scope conflicts with another block.
  ReadOnly,      ///< ld.global.nc reads memory that the launch writes.
  Texture,       ///< A texture or a surface reads memory that the launch writes.
};
std::string_view advice_on(GlobalRace race, ptx::Language language);

/// Returns whether both are from one source line, or are one instruction if the line is unknown.
bool in_one_line(const ptx::Instruction& one, const ptx::Instruction* other);

}  // namespace gpuemu::emulator
